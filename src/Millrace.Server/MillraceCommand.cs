using System.CommandLine;
using Millrace.Server.Commands;
using Millrace.Server.Configuration;
using Millrace.Server.Doctor;
using Millrace.Server.Metrics;
using Millrace.Server.Precompress;
using Millrace.Server.Terminal;

namespace Millrace.Server;

/// <summary>
/// The command line: <c>millrace [ROOT] [--listen ADDR]... [--config FILE]</c>, all other flags of the table, and commands.
/// </summary>
internal static class MillraceCommand
{
    private const string ServeName = "serve";

    /// <summary>Parses and runs a command line; returns the exit code.</summary>
    public static async Task<int> RunAsync(string[] arguments)
    {
        ParseResult parsed = Parse(arguments);
        bool isFull = parsed.GetResult(HelpPage.FullFlag) is { Implicit: false } || arguments.Contains("--help=all");
        if (isFull || parsed.GetResult(HelpPage.ShortFlag) is { Implicit: false })
        {
            Command command = parsed.CommandResult.Command;
            return HelpPage.Print(command.Name == ServeName ? parsed.RootCommandResult.Command : command, isFull);
        }

        if (CommandLineError.Describe(parsed, arguments) is { Count: > 0 } errors)
        {
            return errors.Aggregate(ExitCode.Usage, static (code, error) => ErrorLine.Print(error, code));
        }

        // The server handles its own signals: it drains.
        return await parsed.InvokeAsync(
            new InvocationConfiguration { ProcessTerminationTimeout = null, EnableDefaultExceptionHandler = false });
    }

    /// <summary>Parses a command line, which may be wrong.</summary>
    public static ParseResult Parse(string[] arguments)
    {
        // The parser treats a first argument that ends in the program's name as that name: the name is added, so that '/srv/millrace' is a
        // folder. '@name' is a folder, not a response file.
        RootCommand command = Create();
        return command.Parse(
            [command.Name, .. OptionFlags.Complete(arguments)], new ParserConfiguration { ResponseFileTokenReplacer = null });
    }

    public static RootCommand Create()
    {
        var command = new RootCommand("Serves a folder over HTTP and HTTPS.");
        command.Options.Clear();
        command.Directives.Clear();
        var flags = new OptionFlags();
        AddServing(command, flags, HelpPage.ShortFlag);

        var server = new Command(ServeName, "Serves a folder; the default command.");
        AddServing(server, flags);
        command.Subcommands.Add(server);
        command.Subcommands.Add(CheckCommand.Create(flags));
        command.Subcommands.Add(InitCommand.Create());
        command.Subcommands.Add(PrintCommands.Schema());
        command.Subcommands.Add(PrecompressCommand.Create());
        command.Subcommands.Add(DoctorCommand.Create(flags));
        command.Subcommands.Add(ProbeCommand.Create());
        command.Subcommands.Add(PrintCommands.Completions());
        command.Subcommands.Add(PrintCommands.Manual());
        command.Subcommands.Add(HelpPage.CreateCommand(command));
        var version = new Command("version", "Prints the version.");
        version.SetAction(static _ => PrintVersion());
        command.Subcommands.Add(version);
        return command;
    }

    /// <summary>Adds the folder, the flags, and the action that serves with them.</summary>
    private static void AddServing(Command command, OptionFlags flags, params Option[] more)
    {
        ServerOption rootOption = OptionTable.Get("root");
        var root = new Argument<string>(rootOption.Argument!)
        {
            Description = rootOption.Help,
            DefaultValueFactory = _ => rootOption.Default,
        };
        command.Arguments.Add(root);
        flags.AddTo(command);
        Array.ForEach([.. more, HelpPage.FullFlag, HelpPage.VersionFlag], command.Options.Add);
        command.SetAction((parsed, _) =>
        {
            if (parsed.GetValue(HelpPage.VersionFlag))
            {
                return Task.FromResult(PrintVersion());
            }

            IEnumerable<string> roots = parsed.GetResult(root)!.Tokens.Select(static token => token.Value);
            ServerConfiguration configuration = flags.Read(parsed, file: null, roots);
            return configuration.ReadOrPrintErrors(out int exitCode) is { } options
                ? Server.RunAsync(configuration, options)
                : Task.FromResult(exitCode);
        });
    }

    private static int PrintVersion()
    {
        Console.WriteLine(ServerMeter.Version);
        return ExitCode.Done;
    }
}
