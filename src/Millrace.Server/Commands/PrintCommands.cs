using System.CommandLine;
using System.CommandLine.Parsing;
using Millrace.Server.Configuration;
using Millrace.Server.Terminal;

namespace Millrace.Server.Commands;

/// <summary>The commands that print a document; packages install copies of manual and completions.</summary>
internal static class PrintCommands
{
    private static readonly string[] Shells = ["bash", "zsh", "fish"];

    public static Command Schema() => Create(
        "schema", "Prints the JSON Schema of configuration files, for editors.", "millrace.schema.json");

    public static Command Manual() =>
        Create("man", "Prints the manual page: 'millrace man | man -l -' displays it.", "millrace.1");

    public static Command Completions()
    {
        var shell = new Argument<string>("SHELL") { Description = $"The shell, one of {string.Join(", ", Shells)}." };
        shell.CompletionSources.Add(Shells);
        shell.Validators.Add(RefuseUnknown);
        const string Help = "Prints completions for a shell: 'source <(millrace completions bash)' enables them.";
        var command = new Command("completions", Help) { shell };
        command.SetAction(parsed => Print($"millrace.{parsed.GetValue(shell)}"));
        return command;
    }

    private static Command Create(string name, string help, string document)
    {
        var command = new Command(name, help);
        command.SetAction(_ => Print(document));
        return command;
    }

    private static int Print(string document)
    {
        Console.Write(EmbeddedText.Read(document));
        return ExitCode.Done;
    }

    private static void RefuseUnknown(ArgumentResult result)
    {
        if (result.Tokens is [{ Value: { } text }] && !Shells.Contains(text))
        {
            result.AddError($"'{text}' is not a supported shell: use {OptionText.AnyOf(Shells)}.");
        }
    }
}
