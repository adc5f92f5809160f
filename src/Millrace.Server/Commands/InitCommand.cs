using System.CommandLine;
using Millrace.Server.Options.Reference;
using Millrace.Server.Terminal;

namespace Millrace.Server.Commands;

/// <summary><c>millrace init [FILE]</c>: writes a configuration to begin with, never over another file.</summary>
internal static class InitCommand
{
    public static Command Create()
    {
        var file = new Argument<string>("FILE")
        {
            Description = "Where to write it.",
            DefaultValueFactory = static _ => "millrace.json",
        };
        file.Validators.Add(ServeCommand.RefuseOption);
        var command = new Command("init", "Writes a commented configuration file to begin with, never over another file.") { file };
        command.SetAction(parsed => Write(parsed.GetValue(file)!));
        return command;
    }

    private static int Write(string path)
    {
        try
        {
            using (var writer = new StreamWriter(new FileStream(path, FileMode.CreateNew)))
            {
                writer.Write(StarterFile.Text);
            }

            Console.WriteLine($"Wrote {path}. 'millrace check {path}' says what it would serve, 'millrace --config {path}' serves it.");
            return ExitCode.Done;
        }
        catch (IOException) when (File.Exists(path))
        {
            return ErrorLine.Print($"'{path}' exists, and is left as it is: name another.", ExitCode.Usage);
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return ErrorLine.Print($"'{path}' cannot be written: {refusal.Message}", ExitCode.Refused);
        }
    }
}
