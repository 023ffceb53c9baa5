/*
 * Each shell calls `svc completion words` with the words up to the cursor. It prints one completion a line, then a tab and a
 * description. `:files` requests the shell's own completion of file names.
 */

/** Shells that `svc completion` supports. */
export type Shell = 'bash' | 'zsh' | 'fish'

const bash = `_svc() {
  local cur=\${COMP_WORDS[COMP_CWORD]} value rest
  [[ $cur == '=' ]] && cur=
  COMPREPLY=()
  while IFS=$'\\t' read -r value rest; do
    if [[ $value == ':files' ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$cur")
    else
      COMPREPLY+=("$value")
    fi
  done < <("\${1/#\\~\\//$HOME/}" completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _svc svc
`

const zsh = `#compdef svc
_svc() {
  local -a items
  local value rest
  while IFS=$'\\t' read -r value rest; do
    if [[ $value == ':files' ]]; then
      [[ \${words[CURRENT]} == --*=* ]] && compset -P '*='
      _files
      return
    fi
    items+=("\${value//:/\\\\:}:$rest")
  done < <("\${words[1]/#\\~\\//$HOME/}" completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#items )) && _describe svc items
}
if [[ $funcstack[1] == _svc ]]; then
  _svc "$@"
else
  compdef _svc svc
fi
`

// fish completes file names itself, because it knows quotes and escapes. Both rules ask for the same words, so the answer is kept.
const fish = `function __svc_find
    set -l words (commandline -opc) (commandline -ct)
    test "$__svc_words" = "$words"; and return
    set -g __svc_words $words
    set -l program (string replace -r '^~/' $HOME/ -- $words[1])
    set -g __svc_found ($program completion words -- $words[2..-1] 2>/dev/null)
end
function __svc_complete
    __svc_find
    string match -v -- ':files' $__svc_found
end
function __svc_takes_files
    __svc_find
    contains -- ':files' $__svc_found
end
complete -c svc -k -f -a '(__svc_complete)'
complete -c svc -n __svc_takes_files -F
`

/** The completion script of each shell, for `source <(svc completion bash)`. */
export const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish }
