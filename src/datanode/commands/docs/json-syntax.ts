/** Of JSON documents, what `command-syntax.ts` has of the others. */
export const json = `
json.arrappend key path value:string+
json.arrindex key path value:string range=[start:integer [stop:integer]]
json.arrinsert key path index value:string+
json.arrlen key [path]
json.arrpop key path=[path [index]]
json.arrtrim key path start:integer stop:integer
json.clear key [path]
json.debug (MEMORY key) [path]
json.del key [path]
json.forget key [path]
json.get key [INDENT indent:string] [NEWLINE newline:string] [SPACE space:string] [path]*
json.merge key path value:string
json.mget key+ path
json.mset data=(key path value:string)+
json.numincrby key path value:double
json.nummultby key path value:double
json.objkeys key [path]
json.objlen key [path]
json.resp key [path]
json.set key path value:string condition=[NX | XX]
json.strappend key [path] value:string
json.strlen key [path]
json.toggle key path
json.type key [path]
`;
