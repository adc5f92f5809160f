using Millrace.House.Tests.Rules;

namespace Millrace.House.Tests;

public class SourceTests
{
    public static TheoryData<string> BanNames => [.. Bans.All.Select(ban => ban.Name)];

    [Theory]
    [MemberData(nameof(BanNames))]
    public void Nothing_banned_is_in_the_code(string name)
    {
        Ban ban = Bans.All.Single(ban => ban.Name == name);

        Finding.AssertNone(Repository.SourcesUnder("").SelectMany(ban.Check));
    }

    [Theory]
    [MemberData(nameof(BanNames))]
    public void Each_ban_finds_its_example_as_code_and_not_as_text(string name)
    {
        Ban ban = Bans.All.Single(ban => ban.Name == name);
        string path = ban.Scope == Scope.Tests ? "tests/Millrace.Engine.Tests/SampleTests.cs" : "src/Millrace.Engine/Sample.cs";

        Finding finding = Assert.Single(ban.Check(new SourceFile(path, $"// one\n{ban.Example}\n")));

        Assert.Equal(2, finding.Line);
        Assert.Empty(ban.Check(new SourceFile(path, $"// {ban.Example}\nstring text = \"\"\"{ban.Example} \"\"\";\n")));
    }

    [Theory]
    [InlineData("Console", "src/Millrace.Server/Program.cs")]
    [InlineData("P/Invoke", "src/Millrace.Interop/Libc.cs")]
    [InlineData("Task.Run", "src/Millrace.Server/Program.cs")]
    [InlineData("Thread.Sleep", "tests/Millrace.Engine.Tests/ReactorTests.cs")]
    public void A_ban_ends_at_the_border_of_its_rooms(string name, string path)
    {
        Ban ban = Bans.All.Single(ban => ban.Name == name);

        Assert.Empty(ban.Check(new SourceFile(path, ban.Example)));
    }

    [Fact]
    public void No_unfinished_work_is_marked_in_the_code() =>
        Finding.AssertNone(Repository.SourcesUnder("src/").SelectMany(CommentRules.Markers));

    [Theory]
    [InlineData("// TO" + "DO: close it")]
    [InlineData("int a; // HA" + "CK")]
    [InlineData("/* FIX" + "ME */")]
    public void A_marker_of_unfinished_work_is_found(string text) =>
        Assert.Single(CommentRules.Markers(new SourceFile("src/Millrace.Engine/Sample.cs", text)));

    [Fact]
    public void Warnings_are_suppressed_with_a_reason() =>
        Finding.AssertNone(Repository.SourcesUnder("").SelectMany(CommentRules.Suppressions));

    [Theory]
    [InlineData("a();\n#pragma warning disable CA1000\nb();")]
    [InlineData("/// <summary>A ring.</summary>\n[SuppressMessage(\"Design\", \"CA1000\")]\nclass Ring;")]
    [InlineData("[SuppressMessage(\"Design\", \"CA1000\", Justification = \"\")]\nclass Ring;")]
    [InlineData("[UnconditionalSuppressMessage(\"Trimming\", \"IL2026\")]\nclass Ring;")]
    public void A_suppression_without_a_reason_is_found(string text) =>
        Assert.Single(CommentRules.Suppressions(new SourceFile("src/Millrace.Engine/Sample.cs", text)));

    [Theory]
    [InlineData("#pragma warning disable CA1000 // The kernel's name.\nb();")]
    [InlineData("// CA1000: the kernel's name.\n#pragma warning disable CA1000\nb();")]
    [InlineData("[SuppressMessage(\"Design\", \"CA1000\", Justification = \"The kernel calls it so.\")]\nclass Ring;")]
    public void A_suppression_with_a_reason_is_accepted(string text) =>
        Assert.Empty(CommentRules.Suppressions(new SourceFile("src/Millrace.Engine/Sample.cs", text)));

    [Fact]
    public void A_catch_that_does_nothing_says_why() =>
        Finding.AssertNone(Repository.SourcesUnder("src/").SelectMany(CommentRules.EmptyCatches));

    [Theory]
    [InlineData("try { a(); } catch (IOException) { }")]
    [InlineData("try { a(); } catch { }")]
    [InlineData("try { a(); } catch (IOException error) when (error.HResult == 5)\n{\n}")]
    public void An_empty_catch_is_found(string text) =>
        Assert.Single(CommentRules.EmptyCatches(new SourceFile("src/Millrace.Engine/Sample.cs", text)));

    [Fact]
    public void Files_and_lines_are_short() =>
        Finding.AssertNone(Repository.SourcesUnder("src/").SelectMany(file => SizeRules.Length(file).Concat(SizeRules.Width(file))));

    [Fact]
    public void A_long_file_is_found()
    {
        string longest = string.Concat(Enumerable.Repeat("a();\n", SizeRules.FileLinesMax));

        Assert.Empty(SizeRules.Length(new SourceFile("src/Millrace.Engine/Sample.cs", longest)));
        Assert.Single(SizeRules.Length(new SourceFile("src/Millrace.Engine/Sample.cs", longest + "a();\n")));
    }

    [Fact]
    public void A_long_line_is_found()
    {
        string widest = new('a', SizeRules.LineColumnsMax);

        Assert.Empty(SizeRules.Width(new SourceFile("src/Millrace.Engine/Sample.cs", widest)));
        Assert.Equal(2, Assert.Single(SizeRules.Width(new SourceFile("src/Millrace.Engine/Sample.cs", $"a\n{widest}a\n"))).Line);
    }
}
