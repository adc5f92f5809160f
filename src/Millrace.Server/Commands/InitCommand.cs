using System.CommandLine;
using Millrace.Interop.Files;
using Millrace.Server.Terminal;

namespace Millrace.Server.Commands;

/// <summary><c>millrace init [FILE]</c>: writes a starter configuration, and never overwrites a file.</summary>
internal static class InitCommand
{
    /// <summary>Common options, ready to be uncommented.</summary>
    public static string StarterFile => EmbeddedText.Read("starter.json");

    public static Command Create()
    {
        var file = new Argument<string>("FILE")
        {
            Description = "The file to write.",
            DefaultValueFactory = static _ => "millrace.json",
        };
        var command = new Command("init", "Writes a commented starter configuration. Never overwrites a file.") { file };
        command.SetAction(parsed => Write(parsed.GetValue(file)!));
        return command;
    }

    private static int Write(string path)
    {
        try
        {
            using (var writer = new StreamWriter(new FileStream(path, FileMode.CreateNew)))
            {
                writer.Write(StarterFile);
            }

            Console.WriteLine($"Wrote {path}. Check it with 'millrace check {path}', serve it with 'millrace --config {path}'.");
            return ExitCode.Done;
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException && Directory.Exists(path))
        {
            return ErrorLine.Print($"'{path}' is a directory: name a file, such as millrace.json.", ExitCode.Usage);
        }
        catch (IOException) when (File.Exists(path))
        {
            return ErrorLine.Print($"'{path}' already exists and was not changed: choose another name.", ExitCode.Usage);
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException or ArgumentException)
        {
            bool isMistake = refusal is ArgumentException || FileProblem.IsMistake(path, refusal);
            return ErrorLine.Print(
                $"'{path}' cannot be written: {FileProblem.Of(path, refusal)}. Choose another place.",
                isMistake ? ExitCode.Usage : ExitCode.Refused);
        }
    }
}
