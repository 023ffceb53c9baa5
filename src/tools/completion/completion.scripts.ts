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
  done < <("$1" completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _svc svc
`

const zsh = `#compdef svc
_svc() {
  local -a items
  local value rest
  while IFS=$'\\t' read -r value rest; do
    if [[ $value == ':files' ]]; then
      _files
      return
    fi
    items+=("\${value//:/\\\\:}:$rest")
  done < <("\${words[1]}" completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#items )) && _describe svc items
}
if [[ $funcstack[1] == _svc ]]; then
  _svc "$@"
else
  compdef _svc svc
fi
`

const fish = `function __svc_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] completion words -- $words[2..-1] 2>/dev/null)
    if test "$found[1]" = ':files'
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c svc -k -f -a '(__svc_complete)'
`

/** The completion script of each shell, for `source <(svc completion bash)`. */
export const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish }
