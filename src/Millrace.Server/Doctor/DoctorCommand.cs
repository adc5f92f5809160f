using System.CommandLine;

namespace Millrace.Server.Doctor;

/// <summary>
/// <c>millrace doctor [ROOT] [--json]</c>: what of this host makes serving slower or impossible, and what to do about it.
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
        var command = new Command("doctor", Help) { root, json };
        command.SetAction(async (parsed, _) =>
        {
            IReadOnlyList<Finding> findings = Examination.Of(await HostReader.ReadAsync(parsed.GetValue(root)!));
            Console.Write(parsed.GetValue(json) ? DoctorReport.Json(findings) : DoctorReport.Text(findings));
            return (int)Examination.Worst(findings);
        });
        return command;
    }
}
