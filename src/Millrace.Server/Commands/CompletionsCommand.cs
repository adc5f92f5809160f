using System.CommandLine;
using System.CommandLine.Parsing;

namespace Millrace.Server.Commands;

/// <summary><c>millrace completions SHELL</c>: what has a shell complete flags, values and commands; packages install copies.</summary>
internal static class CompletionsCommand
{
    private static readonly string[] Shells = ["bash", "zsh", "fish"];

    public static Command Create()
    {
        var shell = new Argument<string>("SHELL") { Description = $"The shell: {string.Join(", ", Shells)}." };
        shell.CompletionSources.Add(Shells);
        shell.Validators.Add(RefuseUnknown);
        const string Help = "Prints completions for a shell: 'source <(millrace completions bash)' enables them.";
        var command = new Command("completions", Help) { shell };
        command.SetAction(parsed =>
        {
            Console.Write(EmbeddedText.Read($"millrace.{parsed.GetValue(shell)}"));
            return ExitCode.Done;
        });
        return command;
    }

    private static void RefuseUnknown(ArgumentResult result)
    {
        if (result.Tokens is [{ Value: { } text }] && !Shells.Contains(text))
        {
            result.AddError($"'{text}' is not a supported shell: use {string.Join(", ", Shells)}.");
        }
    }
}
