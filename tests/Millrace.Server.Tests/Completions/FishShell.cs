using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Completions;

/// <summary>fish, which says what it would offer.</summary>
internal sealed class FishShell : Shell
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(2);

    public FishShell() => Folder.WriteText(".millrace.fish", Script("fish"));

    /// <summary>For each line the offers, each with its description after a tab.</summary>
    public async Task<string[][]> DescribedAsync(IReadOnlyList<string> lines)
    {
        Folder.WriteText(".lines", string.Concat(lines.Select(static line => line + "\n")));
        Folder.WriteText(".ask.fish", """
            cd (status dirname)
            source .millrace.fish
            while read -l line
                complete -C $line
                printf '\002\n'
            end <.lines
            """);
        string said = await Tool.RunToSuccessAsync(Deadline, "env", $"HOME={Folder.Root}", "LC_ALL=C.UTF-8", "fish", "--no-config", Folder.PathOf(".ask.fish"));
        string[][] offers = [.. said.Split("\x02\n")[..^1].Select(static offers => offers.Split('\n', StringSplitOptions.RemoveEmptyEntries))];
        Assert.Equal(lines.Count, offers.Length);
        return offers;
    }

    protected override async Task<string[][]> AskAsync(IReadOnlyList<string> lines) =>
        [.. (await DescribedAsync(lines)).Select(static offers => offers.Select(static offer => offer.Split('\t')[0]).ToArray())];
}
