using Millrace.DocGenerator.CommandLine;
using Millrace.DocGenerator.Completions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Completions;

public class FishTests : ShellTests
{
    [Fact]
    public async Task Each_flag_and_command_is_described()
    {
        Tool.Require("fish");
        using var shell = new FishShell();
        string[][] described = await shell.DescribedAsync(["millrace --", "millrace "]);
        Assert.All(Shell.Outline.Flags, flag => Assert.Contains($"{flag.Name}\t{CompletionScript.Summary(flag.Help)}", described[0]));
        Assert.All(Shell.Outline.Commands, (CommandModel command) =>
            Assert.Contains($"{command.Name}\t{CompletionScript.Summary(command.Help)}", described[1]));
    }

    internal override Shell Open()
    {
        Tool.Require("fish");
        return new FishShell();
    }
}
