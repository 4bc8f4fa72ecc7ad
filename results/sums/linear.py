"""Writes the random problems of the section on linear programming into a folder: linear.py FOLDER."""
import random,sys,os
out=sys.argv[1]+'/'
def opb(name,obj,rows):
    with open(out+name+'.opb','w') as f:
        f.write('min: '+' '.join(f'{c:+d} x{i+1}' for i,c in obj)+' ;\n')
        for terms,op,b in rows: f.write(' '.join(f'{w:+d} x{i+1}' for i,w in terms)+f' {op} {b} ;\n')
def mkp(n,m,seed,alpha=0.5):
    r=random.Random(seed); w=[[r.randint(1,1000) for _ in range(n)] for _ in range(m)]
    c=[sum(w[k][j] for k in range(m))//m+r.randint(0,500) for j in range(n)]
    opb(f'mkp{n}x{m}_{seed}',[(j,-c[j]) for j in range(n)],[([(j,-w[k][j]) for j in range(n)],'>=',-int(alpha*sum(w[k]))) for k in range(m)])
def cover(m,n,seed,d=0.05,hi=100):
    r=random.Random(seed); c=[r.randint(1,hi) for _ in range(n)]; rows=[]
    for i in range(m):
        s=[j for j in range(n) if r.random()<d]
        while len(s)<2: s=sorted(set(s)|{r.randrange(n)})
        rows.append(([(j,1) for j in s],'>=',1))
    opb(f'cover{m}x{n}_{seed}',list(enumerate(c)),rows)
def gap(m,n,seed):
    r=random.Random(seed); c=[[r.randint(10,50) for _ in range(n)] for _ in range(m)]; a=[[r.randint(5,25) for _ in range(n)] for _ in range(m)]
    X=lambda i,j:i*n+j
    rows=[([(X(i,j),1) for i in range(m)],'=',1) for j in range(n)]
    rows+=[([(X(i,j),-a[i][j]) for j in range(n)],'>=',-int(0.8*sum(a[i])/m)) for i in range(m)]
    opb(f'gap{m}x{n}_{seed}',[(X(i,j),c[i][j]) for i in range(m) for j in range(n)],rows)
def cwl(w,n,seed):
    r=random.Random(seed); d=[r.randint(5,35) for _ in range(n)]; cap=[r.randint(60,160)*n//50+40 for _ in range(w)]; f=[r.randint(100,400) for _ in range(w)]
    p=[(r.random(),r.random()) for _ in range(w)]; q=[(r.random(),r.random()) for _ in range(n)]
    X=lambda i,j:w+i*n+j
    obj=[(i,f[i]) for i in range(w)]+[(X(i,j),int(100*((p[i][0]-q[j][0])**2+(p[i][1]-q[j][1])**2)**.5*d[j]/10)) for i in range(w) for j in range(n)]
    rows=[([(X(i,j),1) for i in range(w)],'=',1) for j in range(n)]
    rows+=[([(X(i,j),-d[j]) for j in range(n)]+[(i,cap[i])],'>=',0) for i in range(w)]
    rows+=[([(X(i,j),-1),(i,1)],'>=',0) for i in range(w) for j in range(n)] if w*n<=400 else []
    opb(f'cwl{w}x{n}_{seed}',obj,rows)
def binp(n,seed):
    r=random.Random(seed); s=[r.randint(10,60) for _ in range(n)]; b=100; k=(sum(s)+b-1)//b+2
    X=lambda i,j:k+i*n+j
    rows=[([(X(i,j),1) for i in range(k)],'=',1) for j in range(n)]
    rows+=[([(X(i,j),-s[j]) for j in range(n)]+[(i,b)],'>=',0) for i in range(k)]
    opb(f'bin{n}_{seed}',[(i,1) for i in range(k)],rows)
def mixed(seed,n=120,m=60):  # sparse rows with logical and knapsack structure
    r=random.Random(seed); rows=[]
    x0=[r.random()<.4 for _ in range(n)]
    for k in range(m):
        s=r.sample(range(n),r.randint(3,12)); t=k%3
        if t==0: w=[r.randint(5,60) for _ in s]; 
        elif t==1: w=[1]*len(s)
        else: w=[r.choice([-1,1])*r.randint(1,9) for _ in s]
        v=sum(a for a,j in zip(w,s) if x0[j])
        rows.append((list(zip(s,w)),'>=',v if t==2 else max(1,v*3//4)))
    opb(f'mixed{n}x{m}_{seed}',[(j,r.randint(5,100)) for j in range(n)],rows)
for s in (1,2): mkp(100,5,s); mkp(100,10,s); mkp(250,10,s); mkp(30,5,s)
for s in (1,2): cover(80,200,s); cover(200,1000,s); cover(100,150,s,0.04,1)
for s in (1,2): gap(5,20,s); gap(8,32,s); gap(10,60,s)
for s in (1,2): cwl(10,30,s); cwl(20,60,s)
for s in (1,2): binp(20,s); binp(40,s)
for s in (1,2,3): mixed(s); mixed(s,300,150)
