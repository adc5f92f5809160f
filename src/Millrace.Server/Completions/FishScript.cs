using System.Text;
using Millrace.Server.Outline;
using static Millrace.Server.Completions.CompletionScript;

namespace Millrace.Server.Completions;

/// <summary>For fish 3.4 and newer.</summary>
internal static class FishScript
{
    private const string Introduction =
        """
        # Completions of millrace for fish, written by 'millrace completions fish'.

        """;

    private const string Functions =
        """

        # __millrace_in COMMAND...: whether the line is about one of these; '' is serving.
        function __millrace_in
            set -l words (commandline -opc)
            set -l command ''
            if set -q words[2]; and contains -- $words[2] $__millrace_commands
                set command $words[2]
            end
            contains -- "$command" $argv
        end

        # Whether nothing stands between the program and the cursor.
        function __millrace_at_first
            test (count (commandline -opc)) -eq 1
        end

        # __millrace_lacks FLAG...: whether none of them has been told.
        function __millrace_lacks
            for word in (commandline -opc)[2..]
                if contains -- (string split -m 1 = -- $word)[1] $argv
                    return 1
                end
            end
            return 0
        end

        # __millrace_takes FLAG...: whether none has been told, but for one whose value is at the cursor.
        function __millrace_takes
            set -l words (commandline -opc)
            if contains -- $words[-1] $argv
                set -e words[-1]
            end
            for word in $words[2..]
                if contains -- (string split -m 1 = -- $word)[1] $argv
                    return 1
                end
            end
            return 0
        end

        # __millrace_behind FLAG...: whether one of them is the word before the cursor.
        function __millrace_behind
            contains -- (commandline -opc)[-1] $argv
        end

        # __millrace_wants_argument COMMAND: whether the line is about it, and lacks what it takes besides flags.
        function __millrace_wants_argument
            __millrace_in $argv; or return 1
            string match -q -- '-*=*' (commandline -ct); and return 1
            set -l words (commandline -opc)[2..]
            test -n "$argv[1]"; and set -e words[1]
            set -l before ''
            for word in $words
                if contains -- "$before" $__millrace_with_value
                    set before ''
                else if contains -- "$before" $__millrace_with_word; and not string match -q -- '-*' $word
                    set before ''
                else if string match -q -- '-*' $word
                    set before $word
                else
                    return 1
                end
            end
            return 0
        end

        # NAME=FOLDER, behind --FLAG= or alone.
        function __millrace_named_folders
            set -l value (string replace -r -- '^--[^=]*=' '' (commandline -ct))
            set -l parts (string split -m 1 = -- $value)
            if set -q parts[2]
                string replace -r -- '^' "$parts[1]=" (__fish_complete_directories "$parts[2]" folder)
            end
        end

        complete -c millrace -f

        """;

    public static string Of(CommandOutline outline)
    {
        var script = new StringBuilder(Introduction);
        script.Append($"\nset -g __millrace_commands {FishQuoted(outline.Commands.Select(static command => command.Name))}\n");
        script.Append($"set -g __millrace_with_value {FishQuoted(NamesOf(outline, ValuePlace.Needed))}\n");
        script.Append($"set -g __millrace_with_word {FishQuoted(NamesOf(outline, ValuePlace.BehindOrAttached))}\n");
        script.Append(Functions);
        foreach (CommandOutline command in outline.Commands)
        {
            script.Append($"complete -c millrace -n __millrace_at_first -a {FishQuoted(command.Name)}");
            script.Append($" -d {FishQuoted(Summary(command.Help))}\n");
        }

        foreach (CommandOutline command in outline.All)
        {
            WriteArgument(script, command);
        }

        foreach ((IReadOnlyList<string> commands, IReadOnlyList<FlagOutline> flags) in FlagsByCommands(outline))
        {
            script.Append('\n');
            string where = $"__millrace_in {FishQuoted(commands)}";
            foreach (FlagOutline flag in flags)
            {
                Write(script, where, flag);
            }
        }

        return script.ToString();
    }

    private static IEnumerable<string> NamesOf(CommandOutline outline, ValuePlace place) =>
        outline.SharedFlags().Where(shared => shared.Flag.Value?.Place == place).SelectMany(static shared => shared.Flag.Names);

    private static void WriteArgument(StringBuilder script, CommandOutline command)
    {
        if (command.Argument is { Value: { } value } argument && (value.Choices.Count > 0 || value.Paths != ValuePaths.None))
        {
            string where = FishQuoted($"__millrace_wants_argument {FishQuoted(command.Name)}");
            script.Append($"complete -c millrace -n {where} {ValueOf(value)} -d {FishQuoted(Summary(argument.Help))}\n");
        }
    }

    private static void Write(StringBuilder script, string where, FlagOutline flag)
    {
        string names = FishQuoted(flag.Names);
        string once = flag.Value is { Place: ValuePlace.Needed } ? "__millrace_takes" : "__millrace_lacks";
        string told = flag.IsRepeatable ? "" : $"; and {once} {names}";
        string spelt = string.Concat(flag.ShortNames.Select(static name => $" -s {name[1..]}")) + $" -l {flag.Name[2..]}";
        script.Append($"complete -c millrace -n {FishQuoted(where + told)}{spelt}");
        if (flag.Value is { } value)
        {
            script.Append(value.Place == ValuePlace.Needed ? " -r " : " ").Append(ValueOf(value));
        }

        script.Append($" -d {FishQuoted(Summary(flag.Help))}\n");
        if (flag.Value is { Place: ValuePlace.BehindOrAttached, Choices.Count: > 0 } behind)
        {
            script.Append($"complete -c millrace -n {FishQuoted($"{where}; and __millrace_behind {names}")} {ValueOf(behind)}\n");
        }
    }

    /// <summary>Files, or the words there are and nothing else.</summary>
    private static string ValueOf(ValueOutline value)
    {
        string words = value.Paths switch
        {
            ValuePaths.Folders => "(__fish_complete_directories)",
            ValuePaths.FoldersBehindName => "(__millrace_named_folders)",
            _ => string.Join(' ', value.Choices),
        };
        return (value.Paths == ValuePaths.Files ? "-F" : "-f") + (words.Length > 0 ? $" -a {FishQuoted(words)}" : "");
    }

    private static string FishQuoted(IEnumerable<string> texts) => string.Join(' ', texts.Select(FishQuoted));

    private static string FishQuoted(string text) =>
        $"'{text.Replace(@"\", @"\\", StringComparison.Ordinal).Replace("'", @"\'", StringComparison.Ordinal)}'";
}
