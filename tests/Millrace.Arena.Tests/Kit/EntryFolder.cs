using System.Text.Json;
using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Arena.Tests.Kit;

/// <summary>What is sent in for an entry: its Dockerfile and its meta.json.</summary>
internal sealed partial class EntryFolder(string name)
{
    public static readonly string[] Names = ["millrace", "millrace-engine", "millrace-aspnet", "millrace-grpc"];

    public string Folder { get; } = Path.Combine(Places.Repository, "bench", "entries", name);

    public string Dockerfile => File.ReadAllText(Path.Combine(Folder, "Dockerfile"));

    public JsonElement Meta => JsonDocument.Parse(File.ReadAllText(Path.Combine(Folder, "meta.json"))).RootElement;

    /// <summary>The words that start the program in the image.</summary>
    public string[] EntryPoint => JsonSerializer.Deserialize<string[]>(EntryPointLine().Match(Dockerfile).Groups["words"].Value)!;

    /// <summary>The project that the image publishes.</summary>
    public string Project => Path.Combine(Places.Repository, PublicationLine().Match(Dockerfile).Groups["project"].Value);

    public Dictionary<string, string> Variables => VariableLine().Matches(Dockerfile)
        .ToDictionary(static match => match.Groups["name"].Value, static match => match.Groups["value"].Value, StringComparer.Ordinal);

    /// <summary>The same program as this suite's build made it.</summary>
    public string Program
    {
        get
        {
            var output = new DirectoryInfo(AppContext.BaseDirectory.TrimEnd(Path.DirectorySeparatorChar));
            string program = Path.GetFileName(EntryPoint[0]);
            return program == "millrace" && Places.GivenProgram is { } given
                ? given
                : Path.Combine(Project, "bin", output.Parent!.Name, output.Name, program);
        }
    }

    [GeneratedRegex(@"^ENTRYPOINT (?<words>\[.*\])$", RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex EntryPointLine();

    [GeneratedRegex(@"^RUN dotnet publish (?<project>\S+) ", RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex PublicationLine();

    [GeneratedRegex(@"^ENV (?<name>\w+)=(?<value>\S+)$", RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex VariableLine();
}
