using Millrace.Architecture.Tests.Rules;

namespace Millrace.Architecture.Tests;

public class SecurityTests
{
    private static readonly SourceFile Document = Repository.Files.Single(file => file.Path == "SECURITY.md");

    [Fact]
    public void Each_test_that_holds_a_promise_exists() => Finding.AssertNone(SecurityRules.Missing(Document, Repository.SourcesUnder("tests/")));

    [Fact]
    public void Each_promise_names_a_test()
    {
        Finding.AssertNone(SecurityRules.Unheld(Document));
        Assert.True(Document.Lines.Count(line => line.StartsWith("| ", StringComparison.Ordinal)) > 20, "SECURITY.md has no tables of promises");
    }

    [Fact]
    public void A_test_that_does_not_exist_is_found()
    {
        SourceFile tests = new("tests/Millrace.Http.Tests/SampleTests.cs", "public class SampleTests\n{\n    public void It_holds() { }\n}");

        Assert.Empty(SecurityRules.Missing(new SourceFile("SECURITY.md", "| It holds | `SampleTests.It_holds` |"), [tests]));
        Assert.Equal(2, SecurityRules.Missing(new SourceFile("SECURITY.md", "`SampleTests.It_broke`\n`OtherTests.It_holds`"), [tests]).Count());
    }

    [Fact]
    public void A_promise_without_a_test_is_found()
    {
        SourceFile document = new("SECURITY.md", "| Promise | Held by |\n|---|---|\n| It holds | `SampleTests.It_holds` |\n| Trust us | |\n");

        Assert.Equal(4, Assert.Single(SecurityRules.Unheld(document)).Line);
    }
}
