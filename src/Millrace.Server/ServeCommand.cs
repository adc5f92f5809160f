using System.CommandLine;
using System.CommandLine.Parsing;
using Millrace.Server.Commands;
using Millrace.Server.Configuration;
using Millrace.Server.Doctor;
using Millrace.Server.Precompress;
using Millrace.Server.Terminal;

namespace Millrace.Server;

/// <summary>
/// The command line: <c>millrace [ROOT] [--listen ADDR]... [--config FILE]</c>, all other flags of the table, and commands.
/// </summary>
internal static class ServeCommand
{
    public static RootCommand Create()
    {
        ServerOption rootOption = OptionTable.Get("root");
        var root = new Argument<string>(rootOption.Argument!)
        {
            Description = rootOption.Help,
            DefaultValueFactory = _ => rootOption.Default,
        };
        root.Validators.Add(RefuseOption);
        var command = new RootCommand("A fast static file server for HTTP and HTTPS that follows the RFCs.") { root };
        var flags = new OptionFlags(command);
        command.Subcommands.Add(CheckCommand.Create());
        command.Subcommands.Add(InitCommand.Create());
        command.Subcommands.Add(PrintCommands.Schema());
        command.Subcommands.Add(PrecompressCommand.Create());
        command.Subcommands.Add(DoctorCommand.Create());
        command.Subcommands.Add(ProbeCommand.Create());
        command.Subcommands.Add(PrintCommands.Completions());
        command.Subcommands.Add(PrintCommands.Manual());
        command.SetAction((parsed, _) =>
        {
            IEnumerable<string> roots = parsed.GetResult(root)!.Tokens.Select(static token => token.Value);
            ServerConfiguration configuration = flags.Read(parsed, file: null, roots);
            return configuration.ReadOrPrintErrors() is { } options
                ? Server.RunAsync(configuration, options)
                : Task.FromResult(ExitCode.Usage);
        });
        return command;
    }

    /// <summary>Rejects a mistyped option, which the parser takes for the folder.</summary>
    public static void RefuseOption(ArgumentResult result)
    {
        if (result.Tokens is [{ Value: ['-', ..] text }])
        {
            result.AddError($"'{text}' is not an option (for a folder of this name write './{text}').");
        }
    }
}
