using System.CommandLine;

namespace Millrace.Server.Commands;

/// <summary><c>millrace schema</c>: prints the JSON Schema of the configuration, for completion and checks in editors.</summary>
internal static class SchemaCommand
{
    public static Command Create()
    {
        var command = new Command("schema", "Prints the JSON Schema of configuration files, for completion and checks in editors.");
        command.SetAction(static _ =>
        {
            Console.Write(EmbeddedText.Read("millrace.schema.json"));
            return ExitCode.Done;
        });
        return command;
    }
}
