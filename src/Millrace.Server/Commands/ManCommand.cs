using System.CommandLine;
using Millrace.Server.Manual;
using Millrace.Server.Outline;

namespace Millrace.Server.Commands;

/// <summary><c>millrace man</c>: the manual, of which packages install a copy.</summary>
internal static class ManCommand
{
    public static Command Create()
    {
        var command = new Command("man", "Prints the manual page: 'millrace man | man -l -' shows it.");
        command.SetAction(static parsed =>
        {
            Console.Write(ManualPage.Of(CommandOutline.Of(parsed.RootCommandResult.Command)));
            return ExitCode.Done;
        });
        return command;
    }
}
