using System.Globalization;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>The site's <c>_headers</c>: what is understood, what is not, and that no field it makes can break a response.</summary>
internal sealed class HeadersFileTarget : FuzzTarget
{
    private static readonly SiteOptions Options = new() { Root = "/" };

    public override string Name => "headers-file";

    public override int OutcomesMin => 8;

    public override IReadOnlyList<string> Words =>
    [
        "/*\n", "/a/:b\n", "*.js\n", "https://h/*\n", " X-A: 1\n", "X-A:2\n", "! X-A\n", "!", " Link: a\n", " Set-Cookie: a=b\n",
        " ETag: \"a\"\n", " Content-Type: text/html\n", " Content-Type: html\n", "# c\n", "\r\n", "\n", ": ", ":", "\r", "\0",
        "\xEF\xBB\xBF", "\xFF\xFE", "\xC3\xA9", "\t", "//", "%zz", "; charset=utf-8",
    ];

    public override byte[] Generate(Random random)
    {
        string[] lines =
        [
            "/*", "/a", "/:b/c", "  X-A: 1", "\tLink: b", " Set-Cookie: c=d", " ! X-A", "# note", "", " X-B: a: b, \"c\"", " nonsense", " ETag: a",
            "*.css",
        ];
        return Latin1.Bytes(string.Concat(
            Enumerable.Range(0, random.Next(1, 12)).Select(_ => random.Pick<string>(lines) + random.Pick("\n", "\r\n"))));
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        IReadOnlyList<FieldBlock> blocks = HeadersFile.Parse(input, null, out List<string> warnings);
        (string[] expected, int[] refused) = ReferenceHeadersFile.Read(input);
        string[] fields = [.. blocks.SelectMany(block => block.Edits.Select(edit => $"{edit.Field.Name}: {edit.Field.Value}"))];
        string[] expectedFields = [.. expected.Where(line => line[0] != '/')];
        Agree($"{expected.Length - expectedFields.Length}", $"{blocks.Count}", "blocks");
        Agree(string.Join('\n', expectedFields), string.Join('\n', fields), "fields");
        Agree(string.Join(' ', refused.Order()), string.Join(' ', warnings.Select(LineOf).Order()), "lines that are not understood");

        foreach (FieldEdit edit in blocks.SelectMany(block => block.Edits))
        {
            bool isName = !edit.Field.NameBytes.ContainsAnyExcept(ByteClasses.Token);
            Require(isName && !edit.Field.ValueBytes.ContainsAnyExcept(ByteClasses.FieldValue), $"{edit.Field} could end its line");
        }

        // And the whole of it compiles and is asked.
        SiteRules rules = SiteRules.Compile(Options, input, default);
        _ = rules.FieldsFor("/a"u8, "/a"u8);
        return $"{Math.Min(blocks.Count, 3)} {Math.Min(fields.Length, 4)} {Math.Min(refused.Length, 3)}";
    }

    /// <summary>"_headers:3: cause remedy".</summary>
    private static int LineOf(string warning) => int.Parse(warning.Split(':')[1], CultureInfo.InvariantCulture);
}
