using Millrace.Architecture.Tests.Rules;

namespace Millrace.Architecture.Tests;

public class DocumentTests
{
    private static readonly SourceFile[] Decisions =
        [.. Repository.Documents.Where(file => file.Path.StartsWith(DecisionRules.Folder, StringComparison.Ordinal))];

    [Fact]
    public void Links_lead_somewhere() => Finding.AssertNone(Repository.Documents.SelectMany(document => DocumentRules.Links(document, Read)));

    [Fact]
    public void Paths_in_documents_exist() => Finding.AssertNone(Repository.Documents.SelectMany(document => DocumentRules.Paths(document, Read)));

    [Fact]
    public void Decisions_are_numbered_without_gaps()
    {
        Assert.NotEmpty(Decisions);
        Finding.AssertNone(DecisionRules.Numbers(Decisions.Select(decision => decision.Path)));
    }

    [Fact]
    public void Decisions_say_where_they_stand() => Finding.AssertNone(Decisions.SelectMany(DecisionRules.Status));

    [Theory]
    [InlineData("[a](missing.md)")]
    [InlineData("![a](../missing.png \"title\")")]
    [InlineData("[a]: missing.md")]
    [InlineData("[a](there.md#no-such-heading)")]
    [InlineData("[a](#no-such-heading)")]
    public void A_link_that_leads_nowhere_is_found(string text) =>
        Assert.Single(DocumentRules.Links(new SourceFile("docs/sample.md", text), ReadSample));

    [Theory]
    [InlineData("[a](there.md) [b](/docs/there.md) [c](../docs/)")]
    [InlineData("[a](there.md#what-it-is-and-why)")]
    [InlineData("[a](https://example.com/missing.md) [b](mailto:a@example.com)")]
    [InlineData("`[a](missing.md)`\n```\n[a](missing.md)\n```")]
    public void A_link_that_leads_somewhere_is_accepted(string text) =>
        Assert.Empty(DocumentRules.Links(new SourceFile("docs/sample.md", text), ReadSample));

    [Fact]
    public void A_path_that_does_not_exist_is_found()
    {
        SourceFile document = new("docs/sample.md", "See `docs/there.md:12`, `docs/adr/NNNN-title.md`, `docs/*.md`\nand `src/Missing/Ring.cs`.");

        Assert.Equal(2, Assert.Single(DocumentRules.Paths(document, ReadSample)).Line);
    }

    [Theory]
    [InlineData("docs/adr/0002-b.md")]
    [InlineData("docs/adr/0000-twin.md")]
    [InlineData("docs/adr/notes.md")]
    public void A_decision_out_of_order_is_found(string path) =>
        Assert.NotEmpty(DecisionRules.Numbers(["docs/adr/0000-template.md", path]));

    [Theory]
    [InlineData("# 0001. A ring\n\nWe use a ring.", 1)]
    [InlineData("# 0001. A ring\n\nStatus: perhaps", 1)]
    [InlineData("# 0001. A ring\n\nStatus: superseded", 1)]
    [InlineData("# 0001. A ring\n\nStatus: accepted", 0)]
    [InlineData("# 0001. A ring\n\n- **Status:** Superseded by 0007", 0)]
    [InlineData("# 0001. A ring\n\n## Status\n\nAccepted", 0)]
    public void A_decision_without_a_status_is_found(string text, int findings) =>
        Assert.Equal(findings, DecisionRules.Status(new SourceFile("docs/adr/0001-a.md", text)).Count());

    private static string? ReadSample(string path) => path switch
    {
        "docs" => "",
        "docs/there.md" => "# There\n\n## What it is, and why\n",
        "docs/sample.md" => "# Sample\n",
        _ => null,
    };

    private static string? Read(string path)
    {
        string fullPath = Path.Combine(Repository.Root, path);
        return File.Exists(fullPath) ? File.ReadAllText(fullPath) : Directory.Exists(fullPath) ? "" : null;
    }
}
