using System.CommandLine;

namespace Millrace.Server.Commands;

/// <summary><c>millrace man</c>: the manual, of which packages install a copy.</summary>
internal static class ManCommand
{
    public static Command Create()
    {
        var command = new Command("man", "Prints the manual page: 'millrace man | man -l -' displays it.");
        command.SetAction(static _ =>
        {
            Console.Write(EmbeddedText.Read("millrace.1"));
            return ExitCode.Done;
        });
        return command;
    }
}
