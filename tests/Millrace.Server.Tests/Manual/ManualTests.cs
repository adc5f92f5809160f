using System.Text.RegularExpressions;
using Millrace.DocGenerator;
using Millrace.DocGenerator.CommandLine;
using Millrace.DocGenerator.Manual;
using Millrace.Server.Configuration;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Manual;

/// <summary>The manual as formatters show it.</summary>
public class ManualTests
{
    /// <summary>What nobody wants a formatter to make of a text.</summary>
    private const string Odd = ".so it's \\fB `--a-b` \"x\" 'y' ^~/.z [c]: 10% \\ é €";

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(30);

    private static string Page => ManualPage.Of(GeneratedFile.CommandLine);

    [Fact]
    public async Task Man_prints_the_manual() =>
        Assert.Equal(new ToolResult(0, Places.Read("deploy/man/millrace.1"), ""), await Tool.RunAsync(Publication.Program, "man"));

    [Fact]
    public async Task Formatters_find_nothing_wrong_with_it()
    {
        Array.ForEach(["mandoc", "groff"], Tool.Require);
        using var folder = new TempFolder();
        folder.WriteText("millrace.1", Page);
        string file = folder.PathOf("millrace.1");

        Assert.Equal(new ToolResult(0, "", ""), await Tool.RunAsync("mandoc", "-Tlint", file));
        Assert.Equal(new ToolResult(0, "", ""), await Tool.RunAsync("groff", "-man", "-ww", "-Tutf8", "-z", file));
    }

    [Theory]
    [InlineData("mandoc", "-Tutf8", "-O", "width=1000")]
    [InlineData("groff", "-man", "-Tutf8", "-P-cbou", "-rLL=1000n")]
    public async Task It_explains_every_flag_and_command(string formatter, params string[] arguments)
    {
        string shown = await ShowAsync(Page, formatter, arguments);
        foreach (ServerOption option in OptionTable.All)
        {
            Assert.Matches($@"(?m)^ +(-\w, )?{Regex.Escape(option.Flag)}(\s|\[|$)", shown);
            Assert.Contains(option.Help, shown, StringComparison.Ordinal);
            Assert.Contains($"Environment {option.Variable}, file {option.Path}: ", shown, StringComparison.Ordinal);
            string standard = option.Default == "." ? "the current folder" : option.Default;
            Assert.Contains(standard.Length > 0 ? $"Default: {standard}." : "", shown, StringComparison.Ordinal);
            Assert.All(option.Choices, choice => Assert.Contains(choice, shown, StringComparison.Ordinal));
        }

        foreach (CommandModel command in GeneratedFile.CommandLine.Commands)
        {
            Assert.Matches($@"(?m)^ +millrace {command.Name}\b", shown);
            Assert.Contains(command.Help, shown, StringComparison.Ordinal);
            Assert.All(command.Flags, flag => Assert.Contains(flag.Help, shown, StringComparison.Ordinal));
        }
    }

    [Theory]
    [InlineData("mandoc", "-Tutf8")]
    [InlineData("groff", "-man", "-Tutf8", "-P-cbou")]
    public async Task Any_text_is_shown_as_it_is(string formatter, params string[] arguments)
    {
        var page = new RoffWriter();
        page.Line(".TH X 1 2026-11-22 X X");
        page.Section("Name");
        page.Line(@"x \- y");
        page.Section("Odd");
        page.Text(Odd);
        page.Example($"{Odd}\n.nx\n'bp");
        page.Item(RoffWriter.Bold(Odd), Odd);

        string shown = await ShowAsync(page.ToString(), formatter, arguments);
        string plain = Odd.Replace("`", "", StringComparison.Ordinal);
        Assert.Equal(2, Regex.Count(shown, Regex.Escape(plain)));
        Assert.Equal(2, Regex.Count(shown, Regex.Escape(Odd)));
        Assert.Matches(@"(?m)^ +\.nx\n +'bp$", shown);
    }

    /// <summary>Lines of source that tools accept, none of which ends in white space.</summary>
    [Fact]
    public void Lines_are_cut_between_words()
    {
        var page = new RoffWriter();
        page.Text(string.Concat(Enumerable.Repeat("../a -b\n", 100)));
        Assert.All(page.ToString().TrimEnd('\n').Split('\n'), static line => Assert.Matches(@"^(\\&\.|\\-).{1,76}[ab]$", line));
    }

    private static async Task<string> ShowAsync(string page, string formatter, string[] arguments)
    {
        Tool.Require(formatter);
        using var folder = new TempFolder();
        folder.WriteText("page.1", page);
        string shown = await Tool.RunToSuccessAsync(Deadline, formatter, [.. arguments, folder.PathOf("page.1")]);

        // Bold and underlined as on a printing terminal.
        return Regex.Replace(shown, ".\b", "");
    }
}
