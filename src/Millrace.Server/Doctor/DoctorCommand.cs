using System.CommandLine;
using Millrace.Server.Configuration;

namespace Millrace.Server.Doctor;

/// <summary>
/// <c>millrace doctor [ROOT] [--json] [flags]</c>: reports settings of this host that make serving slower or impossible, with remedies.
/// </summary>
internal static class DoctorCommand
{
    public static Command Create()
    {
        var root = new Argument<string>("ROOT")
        {
            Description = "The folder that would be served.",
            DefaultValueFactory = static _ => ".",
        };
        root.Validators.Add(ServeCommand.RefuseOption);
        var json = new Option<bool>("--json") { Description = "Print the findings as JSON." };
        const string Help =
            "Checks this host for settings that make serving slower (exit status 1) or impossible (2), and prints the remedies.";
        var command = new Command("doctor", Help) { root, json };
        var flags = new OptionFlags(command);
        command.SetAction(async (parsed, _) =>
        {
            IEnumerable<string> roots = parsed.GetResult(root)!.Tokens.Select(static token => token.Value);
            ServerConfiguration configuration = flags.Read(parsed, file: null, roots);
            if (configuration.ReadOrPrintErrors() is not { } options)
            {
                return ExitCode.Usage;
            }

            IReadOnlyList<Finding> findings = HostChecks.Of(await HostReader.ReadAsync(options, configuration.Path));
            Console.Write(parsed.GetValue(json) ? DoctorReport.Json(findings) : DoctorReport.Text(findings));
            return (int)HostChecks.Worst(findings);
        });
        return command;
    }
}
