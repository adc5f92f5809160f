using Millrace.DocGenerator.CommandLine;
using Millrace.DocGenerator.Completions;
using Millrace.Server.Configuration;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Completions;

public class CompletionsCommandTests
{
    public static TheoryData<string> Shells => [.. CompletionScript.Shells.Keys];

    [Theory]
    [MemberData(nameof(Shells))]
    public async Task Completions_prints_what_a_shell_reads(string shell)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, "completions", shell);
        Assert.Equal(new ToolResult(0, Places.Read($"deploy/completions/millrace.{shell}"), ""), result);
    }

    [Theory]
    [InlineData("'csh' is not a supported shell: use bash, zsh or fish.", "csh")]
    [InlineData("'millrace completions' needs SHELL")]
    public async Task Another_shell_is_answered_in_one_line(string words, params string[] arguments)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, ["completions", .. arguments]);
        Assert.Equal((2, ""), (result.ExitCode, result.Output));
        Assert.Contains(words, result.Error, StringComparison.Ordinal);
        Assert.Equal(result.Error.Length - 1, result.Error.IndexOf('\n', StringComparison.Ordinal));
    }

    /// <summary>What scripts and manual are made of has every row of the table, and of each what the row says.</summary>
    [Fact]
    public void The_outline_has_every_option_of_the_table()
    {
        foreach (ServerOption row in OptionTable.All.Where(static row => row.Argument is null))
        {
            foreach (string command in (string[])["", "check"])
            {
                FlagModel flag = Shell.Outline.All.Single(one => one.Name == command).Flags.Single(flag => flag.Row == row);
                Assert.Equal((row.Flag, row.Help), (flag.Name, flag.Help));
                Assert.All(row.Choices, choice => Assert.Contains(choice, flag.Value!.Choices));
                Assert.Equal(row.BareValue is null, flag.Value!.Place == ValuePlace.Needed);
            }
        }
    }

    [Theory]
    [InlineData("--listen", true, "None", "Needed")]
    [InlineData("--cert", true, "Files", "Needed")]
    [InlineData("--config", false, "Files", "Needed")]
    [InlineData("--access-log", false, "Files", "Needed", "-", "syslog")]
    [InlineData("--trusted-proxy", true, "None", "Needed", "unix")]
    [InlineData("--host", true, "FoldersBehindName", "Needed")]
    [InlineData("--backend", false, "None", "Needed", "auto", "io_uring", "epoll")]
    [InlineData("--compress", false, "None", "MayFollow", "on", "off")]
    [InlineData("--https", true, "None", "MayFollow")]
    [InlineData("--spa", false, "None", "Attached")]
    public void A_value_is_known_by_its_row(string name, bool isRepeatable, string paths, string place, params string[] choices)
    {
        FlagModel flag = Shell.Outline.Flags.Single(flag => flag.Name == name);
        Assert.Equal((isRepeatable, paths, place), (flag.IsRepeatable, flag.Value!.Paths.ToString(), flag.Value.Place.ToString()));
        Assert.Equal(choices, flag.Value.Choices);
    }

    /// <summary>A flag that two commands have is one flag to a script.</summary>
    [Fact]
    public void Flags_of_one_name_are_alike()
    {
        foreach (IGrouping<string, FlagModel> alike in Shell.Outline.All.SelectMany(static command => command.Flags).GroupBy(static flag => flag.Name))
        {
            FlagModel first = alike.First();
            Assert.All(alike, flag => Assert.Equal(
                (first.Help, first.IsRepeatable, first.Value?.Form, first.Value?.Place), (flag.Help, flag.IsRepeatable, flag.Value?.Form, flag.Value?.Place)));
        }
    }

    [Theory]
    [InlineData("One. Two.", "One")]
    [InlineData("As 10.0.0.0/8.", "As 10.0.0.0/8")]
    [InlineData("Bare", "Bare")]
    public void A_summary_is_the_first_sentence(string help, string summary) => Assert.Equal(summary, CompletionScript.Summary(help));
}
