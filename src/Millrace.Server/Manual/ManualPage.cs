using Millrace.Server.Options;
using Millrace.Server.Options.Files;
using Millrace.Server.Options.Reference;
using Millrace.Server.Outline;
using Millrace.StaticFiles.Options;
using static Millrace.Server.Manual.RoffWriter;

namespace Millrace.Server.Manual;

/// <summary>millrace(1): what is said of flags and commands is read off them, the rest is <see cref="ManualText"/>.</summary>
internal static class ManualPage
{
    private static string AllOptions => $"[{Italic("OPTION")}]...";

    public static string Of(CommandOutline outline)
    {
        var page = new RoffWriter();
        page.Line($@".\"" Written by 'millrace man'.");
        page.Line($".TH MILLRACE 1 \"{ManualText.Date}\" Millrace \"User Commands\"");

        // Flags and paths are not to be cut in two.
        page.Line(".nh");
        page.Line(".ad l");
        page.Section("Name");
        page.Line($@"millrace \- {Escaped(ManualText.Name)}");
        WriteSynopsis(page, outline);
        WriteProse(page, "Description", ManualText.Description);
        WriteCommands(page, outline);
        WriteOptions(page, outline);
        WriteProse(page, "Configuration file", ManualText.ConfigurationFile);
        page.Example(ManualText.ConfigurationExample);
        WriteList(page, "Environment", ManualText.Environment);
        WriteList(page, "Signals", ManualText.Signals);
        WriteList(page, "Exit status", ManualText.ExitStatus);
        WriteList(page, "Files", ManualText.Files);
        WriteExamples(page);
        page.Section("See also");
        page.Line(string.Join(",\n", ManualText.SeeAlso.Select(static other => $"{Bold(other.Name)}({other.Section})")));
        return page.ToString();
    }

    private static void WriteSynopsis(RoffWriter page, CommandOutline outline)
    {
        page.Section("Synopsis");
        page.Line(string.Join("\n.br\n", outline.All.Select(command => UsageOf(command, outline))));
    }

    /// <summary>With the few flags of its own, or a word for many.</summary>
    private static string UsageOf(CommandOutline command, CommandOutline root)
    {
        List<string> parts = [Bold("millrace")];
        if (command.Name.Length > 0)
        {
            parts.Add(Bold(command.Name));
        }

        parts.AddRange(OwnFlags(command, root).Select(static flag => $"[{SpeltOut(flag)}]"));
        if (TakesAll(command))
        {
            parts.Add(AllOptions);
        }

        if (command.Argument is { } argument)
        {
            parts.Add(argument.IsRequired ? Italic(argument.Name) : $"[{Italic(argument.Name)}]");
        }

        return string.Join(' ', parts);
    }

    private static void WriteProse(RoffWriter page, string title, string text)
    {
        page.Section(title);
        string[] paragraphs = text.Split("\n\n");
        page.Text(paragraphs[0]);
        Array.ForEach(paragraphs[1..], page.Paragraph);
    }

    private static void WriteList(RoffWriter page, string title, IEnumerable<(string Name, string Text)> items)
    {
        page.Section(title);
        foreach ((string name, string text) in items)
        {
            page.Item(Bold(name), text);
        }
    }

    private static void WriteExamples(RoffWriter page)
    {
        page.Section("Examples");
        foreach ((string text, string command) in ManualText.Examples)
        {
            page.Line(".TP");
            page.Text(text);
            page.Line(".nf");
            page.Lines(command);
            page.Line(".fi");
        }
    }

    private static void WriteCommands(RoffWriter page, CommandOutline outline)
    {
        page.Section("Commands");
        page.Text("Without one of these words, millrace serves. A folder with such a name is written with a slash: `./check`.");
        foreach (CommandOutline command in outline.Commands)
        {
            page.Item(UsageOf(command, outline), command.Help);
            if (command.Argument is not null || TakesAll(command) || OwnFlags(command, outline).Any())
            {
                page.Line(".RS");
                WriteParts(page, command, outline);
                page.Line(".RE");
            }
        }
    }

    private static void WriteParts(RoffWriter page, CommandOutline command, CommandOutline root)
    {
        if (command.Argument is { } argument)
        {
            page.Item(Italic(argument.Name), argument.Help + (argument.Default.Length > 0 ? $" Default: {argument.Default}." : ""));
        }

        foreach (FlagOutline flag in OwnFlags(command, root))
        {
            page.Item(SpeltOut(flag), flag.Help);
        }

        if (TakesAll(command))
        {
            page.Item(AllOptions, "All of the next section.");
        }
    }

    private static void WriteOptions(RoffWriter page, CommandOutline outline)
    {
        page.Section("Options");
        page.Text(ManualText.Options);
        page.Subsection("General");
        foreach (FlagOutline flag in outline.Flags.Where(static flag => flag.Row is null))
        {
            page.Item(SpeltOut(flag), flag.Help);
        }

        foreach (OptionSection section in OptionSection.All)
        {
            page.Subsection(section.Title);
            string note = section.Note;
            if (note.Length > 0)
            {
                page.Text(note);
            }

            foreach (ServerOption option in section.Options)
            {
                FlagOutline? flag = outline.Flags.FirstOrDefault(flag => flag.Row == option);
                page.Item(flag is null ? Italic(option.Flag) : SpeltOut(flag), Explained(option));
                page.Line(".br");
                page.Text($"Environment `{option.Variable}`, file `{option.Path}`: "
                    + $"{ValueShapes.DescribeWithParts(option)}.");
            }
        }
    }

    private static string Explained(ServerOption option)
    {
        bool needsNote = option.BareNote != BareNote.InHelp && option.Kind != OptionValueKind.Switch;
        string alone = option.BareValue is { } bare && needsNote ? $" `{option.Flag}` alone is `{option.Flag}={bare}`." : "";
        string limits = option.Range switch
        {
            null => "",
            (long least, long.MaxValue) => $" At least {least}.",
            (long least, long most) => $" From {least} to {most}.",
        };
        return option.Help
            + alone
            + (option.Default.Length > 0 ? $" Default: {option.Default}." : "")
            + limits
            + (option.Occurrence == OptionOccurrence.Repeatable ? " May be repeated." : "")
            + (option.Change == OptionChange.AtRestart ? " Needs a restart." : "");
    }

    /// <summary>The flag with its value: words in bold, forms in italics.</summary>
    private static string SpeltOut(FlagOutline flag)
    {
        string names = string.Join(", ", flag.Names.Select(Bold));
        if (flag.Value is not { } value)
        {
            return names;
        }

        string form = string.Join('|', value.Form.Split('|').Select(part => value.Choices.Contains(part) ? Bold(part) : Italic(part)));
        return value.Place switch
        {
            ValuePlace.Attached => $"{names}[={form}]",
            ValuePlace.BehindOrAttached => $"{names} [{form}]",
            _ => $"{names} {form}",
        };
    }

    private static bool TakesAll(CommandOutline command) => command.Flags.Any(static flag => flag.Row is not null);

    /// <summary>Those that are not explained with serving.</summary>
    private static IEnumerable<FlagOutline> OwnFlags(CommandOutline command, CommandOutline root) =>
        command.Flags.Where(flag => flag.Row is null && !root.Flags.Any(shared => shared.Name == flag.Name));
}
