using System.CommandLine;
using Millrace.Server.Options.Reference;

namespace Millrace.Server.Commands;

/// <summary><c>millrace schema</c>: the JSON Schema of the configuration, for editors that complete and check by it.</summary>
internal static class SchemaCommand
{
    public static Command Create()
    {
        var command = new Command("schema", "Prints the JSON Schema of configuration files, which editors complete from.");
        command.SetAction(static _ =>
        {
            Console.Write(ConfigurationSchema.Text);
            return ExitCode.Done;
        });
        return command;
    }
}
