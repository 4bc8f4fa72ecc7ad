//! Tests of text that is skipped: comments, a byte order mark, ignored text.

use super::tokens::tests::{Drip, message};
use super::tokens::{BYTE_ORDER_MARK, Tokens};
use crate::error::Warning;
use crate::stop::Stop;
use std::io::Read;

#[test]
fn comments_where_a_word_may_begin() {
    let stop = Stop::new();
    for drip in [false, true] {
        let text: &[u8] = b"# first\n1 #second\n#\n2 3#4\n\t# 5\r\n5 #";
        let source: Box<dyn Read> = if drip { Box::new(Drip(text)) } else { Box::new(text) };
        let mut tokens = Tokens::new(source, "f".into(), &stop);
        tokens.skip_comments();
        assert_eq!(tokens.integer("a number").expect("a token"), 1);
        assert_eq!(tokens.integer("a number").expect("a token"), 2);
        assert_eq!(message(tokens.integer("a number")), "f:4:3: found `3#4`, expected a number");
        assert_eq!(tokens.integer("a number").expect("a token"), 5);
        assert!(tokens.at_end().expect("readable text"));
    }
    let mut plain = Tokens::new(Box::new(&b"#1 2"[..]), "f".into(), &stop);
    assert_eq!(plain.word("a word").expect("a token"), b"#1");
}

#[test]
fn a_byte_order_mark_is_no_text() {
    let stop = Stop::new();
    for drip in [false, true] {
        for (text, column) in [(&b"\xef\xbb\xbfx"[..], 1), (b"\xef\xbb\xbf x", 2), (b"x", 1)] {
            let source: Box<dyn Read> = if drip { Box::new(Drip(text)) } else { Box::new(text) };
            let mut tokens = Tokens::new(source, "f".into(), &stop);
            let begin = format!("f:1:{column}: found `x`");
            assert!(message(tokens.integer("n")).starts_with(&begin), "{text:?}");
        }
        for text in [&b"\xef"[..], b"\xef\xbb", b"\xef\xbbx"] {
            let source: Box<dyn Read> = if drip { Box::new(Drip(text)) } else { Box::new(text) };
            assert_eq!(Tokens::new(source, "f".into(), &stop).word("a word").expect("a word"), text);
        }
        let mut alone = Tokens::new(Box::new(BYTE_ORDER_MARK), "f".into(), &stop);
        assert!(alone.at_end().expect("readable text"));
    }
}

#[test]
fn what_is_left_unread_is_told() {
    let stop = Stop::new();
    for (text, warning) in [
        ("1", None),
        ("1 # a comment", None),
        ("1\n\n x", Some("f:3:2: left unread after the table: 1 word, beginning with `x`")),
        ("1 2\t3\n4", Some("f:1:3: left unread after the table: 3 words, beginning with `2 3 4`")),
    ] {
        let mut tokens = Tokens::new(Box::new(text.as_bytes()), "f".into(), &stop);
        tokens.skip_comments();
        let _ = tokens.word("a word").expect("a word");
        tokens.leave_rest("the table").expect("readable text");
        let warnings: Vec<String> = tokens.take_warnings().iter().map(Warning::to_string).collect();
        assert_eq!(warnings, Vec::from_iter(warning), "{text}");
    }
    let long = format!("1{}", " ab".repeat(100_000));
    let mut tokens = Tokens::new(Box::new(long.as_bytes()), "f".into(), &stop);
    let _ = tokens.word("a word").expect("a word");
    tokens.leave_rest("the table").expect("readable text");
    let warning = tokens.take_warnings()[0].to_string();
    assert!(warning.contains("100000 words") && warning.ends_with("…`") && warning.len() < 150, "{warning}");
}
