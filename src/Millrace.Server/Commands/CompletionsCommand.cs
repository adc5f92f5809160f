using System.CommandLine;
using System.CommandLine.Parsing;
using Millrace.Server.Completions;
using Millrace.Server.Outline;

namespace Millrace.Server.Commands;

/// <summary><c>millrace completions SHELL</c>: what has a shell complete flags, values and commands; packages install copies.</summary>
internal static class CompletionsCommand
{
    public static Command Create()
    {
        string[] shells = [.. CompletionScript.Shells.Keys];
        var shell = new Argument<string>("SHELL") { Description = $"Which shell: {string.Join(", ", shells)}." };
        shell.CompletionSources.Add(shells);
        shell.Validators.Add(RefuseUnknown);
        const string Help = "Prints a shell's completions: 'source <(millrace completions bash)' has them at once.";
        var command = new Command("completions", Help) { shell };
        command.SetAction(parsed =>
        {
            CommandOutline outline = CommandOutline.Of(parsed.RootCommandResult.Command);
            Console.Write(CompletionScript.Shells[parsed.GetValue(shell)!](outline));
            return ExitCode.Done;
        });
        return command;
    }

    private static void RefuseUnknown(ArgumentResult result)
    {
        string[] shells = [.. CompletionScript.Shells.Keys];
        if (result.Tokens is [{ Value: { } text }] && !shells.Contains(text))
        {
            result.AddError($"'{text}' is no shell that there are completions for: write {string.Join(", ", shells)}.");
        }
    }
}
