using Millrace.Architecture.Tests.Rules;

namespace Millrace.Architecture.Tests;

public class SourceTests
{
    private static IEnumerable<SourceFile> Sources => Repository.SourcesUnder("src/").Concat(Repository.SourcesUnder("tools/"));

    [Fact]
    public void Files_and_lines_are_short() => Finding.AssertNone(Sources.SelectMany(SourceRules.Sizes));

    [Fact]
    public void A_long_file_or_line_is_found()
    {
        string longest = string.Concat(Enumerable.Repeat("a();\n", SourceRules.FileLinesMax));
        string widest = new('a', SourceRules.LineColumnsMax);

        Assert.Empty(SourceRules.Sizes(Sample(longest)));
        Assert.Single(SourceRules.Sizes(Sample(longest + "a();\n")));
        Assert.Empty(SourceRules.Sizes(Sample(widest)));
        Assert.Equal(2, Assert.Single(SourceRules.Sizes(Sample($"a\n{widest}a\n"))).Line);
    }

    [Fact]
    public void Warnings_are_suppressed_with_a_reason() =>
        Finding.AssertNone(Repository.SourcesUnder("").SelectMany(SourceRules.Suppressions));

    [Theory]
    [InlineData("a();\n#pragma warning disable CA1000\nb();", 1)]
    [InlineData("/// <summary>A ring.</summary>\n#pragma warning disable CA1000\nclass Ring;", 1)]
    [InlineData("[SuppressMessage(\"Design\", \"CA1000\", Justification = \"\")]\nclass Ring;", 1)]
    [InlineData("[UnconditionalSuppressMessage(\"Trimming\", \"IL2026\")]\nclass Ring;", 1)]
    [InlineData("#pragma warning disable CA1000 // The kernel's name.\nb();", 0)]
    [InlineData("// CA1000: the kernel's name.\n#pragma warning disable CA1000\nb();", 0)]
    [InlineData("[SuppressMessage(\"Design\", \"CA1000\",\n    Justification = \"The kernel calls it so.\")]\nclass Ring;", 0)]
    public void A_suppression_without_a_reason_is_found(string text, int findings) =>
        Assert.Equal(findings, SourceRules.Suppressions(Sample(text)).Count());

    [Fact]
    public void A_catch_that_does_nothing_says_why() =>
        Finding.AssertNone(Sources.SelectMany(SourceRules.EmptyCatches));

    [Theory]
    [InlineData("try { a(); } catch (IOException) { }", 1)]
    [InlineData("try { a(); } catch { }", 1)]
    [InlineData("try { a(); } catch (IOException error) when (error.HResult == 5)\n{\n}", 1)]
    [InlineData("try { a(); } catch (IOException) { /* It has gone already. */ }", 0)]
    [InlineData("try { a(); } catch (IOException) { b(); }", 0)]
    public void An_empty_catch_is_found(string text, int findings) =>
        Assert.Equal(findings, SourceRules.EmptyCatches(Sample(text)).Count());

    [Fact]
    public void A_test_that_sleeps_says_why() => Finding.AssertNone(Repository.SourcesUnder("tests/").SelectMany(SourceRules.Sleeps));

    [Theory]
    [InlineData("a();\n    await Task.Delay(200);\n", 1)]
    [InlineData("    Thread.Sleep(1_000);\n", 1)]
    [InlineData("    await Task.Delay(TimeSpan.FromSeconds(2), cancellation);\n", 1)]
    [InlineData("    // Sleeps: it.\n    Thread.Sleep(1_000);\n", 1)]
    [InlineData("    // Sleeps: the kernel's clock measures it.\n    Thread.Sleep(1_000);\n", 0)]
    [InlineData("    await Task.Delay(150);\n    await Task.Delay(5);\n", 0)]
    public void A_sleep_without_a_reason_is_found(string text, int findings) =>
        Assert.Equal(findings, SourceRules.Sleeps(new SourceFile("tests/SampleTests.cs", text)).Count());

    private static SourceFile Sample(string text) => new("src/Millrace.Engine/Sample.cs", text);
}
