using System.Runtime.Versioning;
using System.Text.RegularExpressions;

namespace Millrace.Architecture.Tests;

/// <summary>A benchmark takes minutes to hours, so the commands in the documents are not run: each program must know the flags.</summary>
[SupportedOSPlatform("linux")]
public partial class BenchmarkDocumentTests
{
    /// <summary>What reads the command line of each program, after it has found or installed its tools.</summary>
    private static readonly Dictionary<string, string> Readers = new()
    {
        ["quick"] = "bench/harness",
        ["run"] = "bench/comparison",
        ["https"] = "bench/tls",
        ["kestrel"] = "bench/transport",
        ["start"] = "bench/start",
        ["acme"] = "bench/acme",
        ["arena"] = "bench/board",
        ["proxy"] = "bench/proxying",
        ["soak"] = "bench/soak",
        ["idle"] = "bench/Millrace.Idle/IdleOptions.cs",
        ["storm"] = "bench/Millrace.Storm/StormOptions.cs",
    };

    public static TheoryData<string, string> Commands =>
    [
        .. from document in Repository.Documents
           from Match command in Command().Matches(document.Text.Replace("\\\n", " ", StringComparison.Ordinal))
           where !Directory.Exists(Path.Combine(Repository.Root, "bench", command.Groups["program"].Value))
           select ($"{document.Path}: {command.Value}", command.Groups["program"].Value),
    ];

    [Theory]
    [MemberData(nameof(Commands))]
    [Trait("Duration", "Full")]
    public void A_program_knows_the_flags_that_a_document_gives_it(string command, string program)
    {
        Assert.True(File.Exists(Path.Combine(Repository.Root, "bench", program)), $"bench/{program} does not exist");
        string known = Help(program);

        Assert.All(Flag().Matches(Quoted().Replace(command, "")), flag =>
            Assert.True(Regex.IsMatch(known, $@"(?<![\w-]){flag.Value}(?![\w-])"), $"{command}: {flag.Value} is not known"));
    }

    private static string Help(string program)
    {
        string reader = Path.Combine(Repository.Root, Readers[program]);
        return reader.EndsWith(".cs", StringComparison.Ordinal) ? File.ReadAllText(reader) : Python.Said("bench/harness", reader, "--help");
    }

    /// <summary>In a fence or a code span, up to its end or a comment.</summary>
    [GeneratedRegex(@"(?:(?<=^)|(?<=`))bench/(?<program>[a-z]+)(?: [^\n`#]*)?(?=`|#|$)", RegexOptions.Multiline)]
    private static partial Regex Command();

    [GeneratedRegex(@"(?<![\w-])--[a-z0-9-]+")]
    private static partial Regex Flag();

    /// <summary>Commands of other servers.</summary>
    [GeneratedRegex("'[^']*'")]
    private static partial Regex Quoted();
}
