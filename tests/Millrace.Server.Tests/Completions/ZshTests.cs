using Millrace.DocGenerator.Completions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Completions;

public class ZshTests : ShellTests
{
    [Fact]
    public async Task Each_flag_and_command_is_described()
    {
        Tool.Require("zsh");
        using var shell = new ZshShell();
        string flags = await shell.ListAsync("millrace --");
        Assert.DoesNotContain(Shell.Outline.Flags, flag => !flags.Contains($"-- {CompletionScript.Summary(flag.Help)}", StringComparison.Ordinal));
        string commands = await shell.ListAsync("millrace ");
        Assert.DoesNotContain(Shell.Outline.Commands, command =>
            !commands.Contains($"-- {CompletionScript.Summary(command.Help)}", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Compinit_finds_it_among_the_functions()
    {
        Tool.Require("zsh");
        using var shell = new ZshShell(isFound: true);
        string[][] offers = await shell.OffersAsync("millrace ch", "millrace --backend=e", "millrace doctor --j");
        Assert.Equal(["check"], offers[0]);
        Assert.Equal(["epoll"], offers[1]);
        Assert.Equal(["--json"], offers[2]);
    }

    [Fact]
    public async Task Without_compinit_it_says_what_is_missing()
    {
        Tool.Require("zsh");
        using var folder = new TempFolder();
        folder.WriteText("millrace.zsh", CompletionScript.Shells["zsh"](Shell.Outline));
        ToolResult result = await Tool.RunAsync("zsh", "-f", "-c", $"source '{folder.PathOf("millrace.zsh")}'");
        Assert.Equal("millrace: zsh completes nothing yet: run 'autoload -Uz compinit && compinit' first.\n", result.Error);
    }

    internal override Shell Open()
    {
        Tool.Require("script");
        Tool.Require("zsh");
        return new ZshShell();
    }
}
