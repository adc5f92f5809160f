using System.Text;
using Millrace.Server.Outline;
using static Millrace.Server.Completions.CompletionScript;

namespace Millrace.Server.Completions;

/// <summary>For zsh: a file called _millrace among those that compinit finds, or sourced behind compinit.</summary>
internal static class ZshScript
{
    private const string Introduction =
        """
        #compdef millrace
        # Completions of millrace for zsh, written by 'millrace completions zsh'.

        """;

    private const string Functions =
        """

        # NAME=FOLDER
        _millrace_named_folder() {
          if compset -P '*='; then
            _files -/
          else
            _message -e names 'NAME=ROOT'
          fi
        }

        _millrace_first() {
          (( CURRENT == 2 )) && _millrace_commands
          _files -/
        }

        # compinit calls the file by its name; who sources it wants it for later.
        if [[ ${funcstack[1]} == _millrace ]]; then
          _millrace "$@"
        elif (( $+functions[compdef] )); then
          compdef _millrace millrace
        else
          print -u2 -r -- "millrace: zsh completes nothing yet: run 'autoload -Uz compinit && compinit' first."
        fi

        """;

    public static string Of(CommandOutline outline)
    {
        var script = new StringBuilder(Introduction);
        WriteCommands(script, outline);
        script.Append("\n_millrace() {\n  local curcontext=\"$curcontext\" command=''\n  local -a specs\n");
        script.Append("  if (( CURRENT > 2 )); then\n    case \"${words[2]}\" in\n");
        script.Append($"      {Pattern(outline.Commands.Select(static command => command.Name))})\n");
        script.Append("        command=\"${words[2]}\"\n        curcontext=\"${curcontext%:*}-$command:\"\n");
        script.Append("        shift words\n        (( CURRENT-- ))\n        ;;\n    esac\n  fi\n");
        foreach ((IReadOnlyList<string> commands, IReadOnlyList<FlagOutline> flags) in FlagsByCommands(outline))
        {
            WriteCase(script, commands, flags.SelectMany(SpecsOf));
        }

        foreach (CommandOutline command in outline.All.Where(static command => command.Argument is not null))
        {
            ArgumentOutline argument = command.Argument!;
            string action = command.Commands.Count > 0 ? "_millrace_first" : ActionOf(argument.Value);
            WriteCase(script, [command.Name], [Quoted($"1:{Escaped(argument.Name)}:{action}")]);
        }

        script.Append("  _arguments -S : \"${specs[@]}\"\n}\n");
        return script.Append(Functions).ToString();
    }

    private static void WriteCommands(StringBuilder script, CommandOutline outline)
    {
        script.Append("\n_millrace_commands() {\n  local -a commands=(\n");
        foreach (CommandOutline command in outline.Commands)
        {
            script.Append($"    {Quoted($"{Escaped(command.Name)}:{Summary(command.Help)}")}\n");
        }

        script.Append("  )\n  _describe -t commands command commands\n}\n");
    }

    private static void WriteCase(StringBuilder script, IEnumerable<string> commands, IEnumerable<string> specs)
    {
        script.Append($"  case \"$command\" in\n    {Pattern(commands)}) specs+=(\n");
        foreach (string spec in specs)
        {
            script.Append($"      {spec}\n");
        }

        script.Append("    ) ;;\n  esac\n");
    }

    /// <summary>What _arguments takes of each name: what it excludes, how often, its sentence and its value.</summary>
    private static IEnumerable<string> SpecsOf(FlagOutline flag)
    {
        string often = flag.IsRepeatable ? "*" : flag.ShortNames.Count > 0 ? $"({string.Join(' ', flag.Names)})" : "";
        return flag.Names.Select(name => Quoted($"{often}{name}{ValueSpecOf(flag)}"));
    }

    private static string ValueSpecOf(FlagOutline flag)
    {
        string summary = $"[{Escaped(Summary(flag.Help))}]";
        return flag.Value is not { } value ? summary : value.Place switch
        {
            ValuePlace.BehindOrAttached => $"={summary}::{Escaped(value.Form)}:{ActionOf(value)}",
            ValuePlace.Attached => $"=-{summary}::{Escaped(value.Form)}:{ActionOf(value)}",
            _ => $"={summary}:{Escaped(value.Form)}:{ActionOf(value)}",
        };
    }

    private static string ActionOf(ValueOutline value)
    {
        string words = string.Join(' ', value.Choices.Select(Escaped));
        return value.Paths switch
        {
            ValuePaths.Files when words.Length > 0 => $"{{ compadd -- {words}; _files }}",
            ValuePaths.Files => "_files",
            ValuePaths.Folders => "_files -/",
            ValuePaths.FoldersBehindName => "_millrace_named_folder",
            _ => words.Length > 0 ? $"({words})" : " ",
        };
    }

    /// <summary>_arguments and _describe end parts at colons, and sentences at brackets.</summary>
    private static string Escaped(string text)
    {
        var escaped = new StringBuilder();
        foreach (char character in text)
        {
            escaped.Append(character is ':' or '[' or ']' or '\\' ? "\\" : "").Append(character);
        }

        return escaped.ToString();
    }
}
