using System.Text;
using Millrace.Server.Outline;
using static Millrace.Server.Completions.CompletionScript;

namespace Millrace.Server.Completions;

/// <summary>
/// For bash 4.4 and newer, with or without the package bash-completion. Paths are left to readline, which quotes them, except where words
/// can be meant as well.
/// </summary>
internal static class BashScript
{
    private const string Introduction =
        """
        # Completions of millrace for bash, written by 'millrace completions bash'. They need bash 4.4 and no other package.

        """;

    private const string Functions =
        """

        _millrace() {
          local words=() command='' argument='' literal='' place='' paths='' word flag i
          local flags=() choices=() used=()
          _millrace_words
          local cur="${words[-1]}" last=$((${#words[@]} - 1))
          COMPREPLY=()

          # What stands in front of the word at the cursor; then place is about the flag right before it.
          for ((i = 1; i < last; i++)); do
            word="${words[i]}"
            if [[ $place == needed || ($place == behind && $word != -*) ]]; then
              place=''
              continue
            fi
            place=''
            if [[ -z $literal && $word == -- ]]; then
              literal=yes
            elif [[ -z $literal && $word == -* ]]; then
              flag="${word%%[=:]*}"
              used+=("$flag")
              if [[ $flag == "$word" ]]; then
                _millrace_value "$flag"
              fi
            elif ((i == 1)) && _millrace_is_one_of "$word" "${_millrace_commands[@]}"; then
              command="$word"
            else
              argument="$word"
            fi
          done

          if [[ $place == needed ]]; then
            _millrace_offer "$cur"
          elif [[ -z $literal && $cur == -*=* ]]; then
            flag="${cur%%=*}"
            _millrace_value "$flag"
            _millrace_offer "${cur#*=}"
            if [[ $COMP_WORDBREAKS != *=* ]]; then
              COMPREPLY=("${COMPREPLY[@]/#/"$flag="}")
            fi
          elif [[ -z $literal && $cur == -* ]]; then
            _millrace_flags "$command"
            _millrace_offer_flags "$cur"
          else
            # A flag that may stand alone leaves its words in choices.
            [[ $place == behind ]] || choices=()
            paths=''
            [[ -n $argument ]] || _millrace_argument "$command"
            ((last > 1)) || choices+=("${_millrace_commands[@]}")
            _millrace_offer "$cur"
          fi
        }

        # The line up to the cursor as words. Bash ends some at ':' and '=' too.
        _millrace_words() {
          local rest="${COMP_LINE:0:COMP_POINT}" piece i
          for ((i = 0; i <= COMP_CWORD; i++)); do
            if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
              words+=('')
              rest="${rest#"${rest%%[![:space:]]*}"}"
            fi
            piece="${COMP_WORDS[i]}"
            if ((i == COMP_CWORD)); then
              piece="$rest"
            fi
            words[-1]+="$piece"
            rest="${rest#"$piece"}"
          done
        }

        # _millrace_offer TEXT: the choices that begin with it, and paths.
        _millrace_offer() {
          local choice
          for choice in "${choices[@]}"; do
            if [[ $choice == "$1"* ]]; then
              COMPREPLY+=("$choice")
            fi
          done
          case "$paths" in
            files)
              if ((${#COMPREPLY[@]} == 0)); then
                compopt -o default
              else
                compopt -o filenames
                mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$1")
              fi
              ;;
            folders)
              if ((${#COMPREPLY[@]} == 0)); then
                compopt -o dirnames
              else
                compopt -o filenames -o plusdirs
              fi
              ;;
            folders-behind-name)
              # Readline takes what begins with a quote for one word, as in '*.example.org=./people'.
              if [[ $1 == [\'\"]*=* ]]; then
                local name="${1%%=*}"
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -d -P "${name:1}=" -- "${1#*=}")
              elif [[ $1 == *=* ]]; then
                compopt -o dirnames
              fi
              ;;
          esac
        }

        # _millrace_offer_flags TEXT: those that begin with it, and can be told once more.
        _millrace_offer_flags() {
          local flag
          for flag in "${flags[@]}"; do
            if [[ $flag == "$1"* ]] && ! { _millrace_is_one_of "$flag" "${used[@]}" && ! _millrace_is_repeatable "$flag"; }; then
              COMPREPLY+=("$flag")
            fi
          done
        }

        # _millrace_is_one_of WORD WORD...
        _millrace_is_one_of() {
          local other
          for other in "${@:2}"; do
            if [[ $1 == "$other" ]]; then
              return 0
            fi
          done
          return 1
        }

        complete -F _millrace millrace

        """;

    public static string Of(CommandOutline outline)
    {
        var script = new StringBuilder(Introduction);
        script.Append($"\n_millrace_commands=({Quoted(outline.Commands.Select(static command => command.Name))})\n");
        WriteFlags(script, outline);
        WriteRepeatable(script, outline);
        WriteValues(script, outline);
        WriteArguments(script, outline);
        return script.Append(Functions).ToString();
    }

    private static void WriteFlags(StringBuilder script, CommandOutline outline)
    {
        script.Append("\n# _millrace_flags COMMAND: adds its flags to flags.\n_millrace_flags() {\n");
        foreach ((IReadOnlyList<string> commands, IReadOnlyList<FlagOutline> flags) in FlagsByCommands(outline))
        {
            script.Append($"  case \"$1\" in\n    {Pattern(commands)}) flags+=(\n");
            foreach (FlagOutline flag in flags)
            {
                script.Append($"      {Quoted(flag.Names)}\n");
            }

            script.Append("    ) ;;\n  esac\n");
        }

        script.Append("}\n");
    }

    private static void WriteRepeatable(StringBuilder script, CommandOutline outline)
    {
        script.Append("\n# _millrace_is_repeatable FLAG: whether it can be told more than once.\n_millrace_is_repeatable() {\n");
        IEnumerable<string> names = outline.SharedFlags()
            .Where(static shared => shared.Flag.IsRepeatable)
            .SelectMany(static shared => shared.Flag.Names);
        script.Append($"  _millrace_is_one_of \"$1\" {Quoted(names)}\n}}\n");
    }

    private static void WriteValues(StringBuilder script, CommandOutline outline)
    {
        script.Append("\n# _millrace_value FLAG: says of its value the place, the choices and the paths.\n_millrace_value() {\n");
        script.Append("  place='' paths=''\n  choices=()\n  case \"$1\" in\n");
        foreach ((FlagOutline flag, _) in outline.SharedFlags())
        {
            if (flag.Value is { } value)
            {
                script.Append($"    {Pattern(flag.Names)}) place={PlaceOf(value)}{WordsAndPathsOf(value)} ;;\n");
            }
        }

        script.Append("  esac\n}\n");
    }

    private static void WriteArguments(StringBuilder script, CommandOutline outline)
    {
        script.Append("\n# _millrace_argument COMMAND: says what it takes besides flags.\n_millrace_argument() {\n  case \"$1\" in\n");
        foreach (CommandOutline command in outline.All)
        {
            if (command.Argument is { Value: { } value } && (value.Choices.Count > 0 || value.Paths != ValuePaths.None))
            {
                script.Append($"    {Quoted(command.Name)}){WordsAndPathsOf(value)} ;;\n");
            }
        }

        script.Append("  esac\n}\n");
    }

    private static string PlaceOf(ValueOutline value) => value.Place switch
    {
        ValuePlace.BehindOrAttached => "behind",
        ValuePlace.Attached => "attached",
        _ => "needed",
    };

    private static string WordsAndPathsOf(ValueOutline value)
    {
        string paths = value.Paths switch
        {
            ValuePaths.Files => " paths=files",
            ValuePaths.Folders => " paths=folders",
            ValuePaths.FoldersBehindName => " paths=folders-behind-name",
            _ => "",
        };
        return (value.Choices.Count > 0 ? $" choices+=({Quoted(value.Choices)})" : "") + paths;
    }
}
