using System.CommandLine;
using Millrace.Server.Commands;
using Millrace.Server.Options;

namespace Millrace.Server.Doctor;

/// <summary>
/// <c>millrace doctor [ROOT] [--json] [flags]</c>: what of this host makes serving slower or impossible, and what to do about it.
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
        const string Help = "Says what of this host makes serving slower (exit status 1) or impossible (2), and what to do about it.";
        var flags = new ConfigurationFlags();
        var command = new Command("doctor", Help) { root, json };
        flags.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            IEnumerable<string> roots = parsed.GetResult(root)!.Tokens.Select(static token => token.Value);
            var configuration = new Configuration(flags.Read(parsed, roots), flags.FileOf(parsed));
            if (configuration.ReadOrComplain() is not { } options)
            {
                return ExitCode.Usage;
            }

            IReadOnlyList<Finding> findings = Examination.Of(await HostReader.ReadAsync(options, configuration.Path));
            Console.Write(parsed.GetValue(json) ? DoctorReport.Json(findings) : DoctorReport.Text(findings));
            return (int)Examination.Worst(findings);
        });
        return command;
    }
}
