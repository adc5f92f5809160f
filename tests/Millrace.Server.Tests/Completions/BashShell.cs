namespace Millrace.Server.Tests.Completions;

/// <summary>bash, through readline: the words are cut as it cuts them, and what is offered is quoted as it quotes.</summary>
internal sealed class BashShell : Shell
{
    public const string Package = "/usr/share/bash-completion/bash_completion";

    private const string AllAtOnce = "\x18\x14";

    private const string Keys =
        """
        bind 'set bell-style none'
        bind 'set match-hidden-files off'
        answer() { printf '\002%s\003' "$READLINE_LINE"; READLINE_LINE=; READLINE_POINT=0; }
        bind '"\C-x\C-a":insert-completions'
        bind -x '"\C-x\C-b":answer'
        bind '"\C-x\C-t":"\C-x\C-a\C-x\C-b"'
        unset HISTFILE
        """;

    private readonly string _before;

    /// <param name="usesPackage">Whether the package bash-completion finds it, where a user would put it; else it is sourced.</param>
    /// <param name="before">What the user's start-up file says besides.</param>
    public BashShell(bool usesPackage = false, string before = "")
    {
        string path = usesPackage ? ".data/bash-completion/completions/millrace" : ".millrace.bash";
        Directory.CreateDirectory(Path.GetDirectoryName(Folder.PathOf(path))!);
        Folder.WriteText(path, Script("bash"));
        _before = before + "\n" + (usesPackage ? $"source {Package}" : "source <(cat .millrace.bash)");
    }

    protected override async Task<string[][]> AskAsync(IReadOnlyList<string> lines)
    {
        Folder.WriteText(".bashrc", $"{_before}\n{Keys}\nPS1='{TypedShell.Prompt}'\n");
        using TypedShell shell = await TypedShell.StartAsync("bash --noprofile --rcfile .bashrc -i", Folder.Root);
        var offers = new List<string[]>();
        foreach (string line in lines)
        {
            offers.Add(Inserted(line, (await shell.TypeAsync(line + AllAtOnce)).Response));
        }

        return [.. offers];
    }
}
