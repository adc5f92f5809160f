namespace Millrace.Server.Tests.Completions;

/// <summary>zsh with its completion system.</summary>
internal sealed class ZshShell : Shell
{
    private const string AllAtOnce = "\x18\x14";
    private const string Listed = "\x18\x0c";

    /// <summary>So many columns and lines that a list is shown whole.</summary>
    private const string Keys =
        """
        zstyle ':completion:*' completer _all_matches _complete
        zstyle ':completion:*' insert yes
        answer() { CURSOR=$#BUFFER; zle complete-word; printf '\002%s\003' "$BUFFER"; BUFFER=; }
        list() { zstyle ':completion:*' completer _complete; zle list-choices; zle -R; printf '\002%s\003' "$BUFFER"; BUFFER=; }
        zle -N answer
        zle -N list
        bindkey '^X^T' answer
        bindkey '^X^L' list
        unsetopt beep
        stty cols 400 rows 400
        COLUMNS=400 LINES=400 LISTMAX=1000
        """;

    private readonly string _load;

    /// <param name="isFound">Whether compinit finds it among the functions, as packages have it; else it is sourced.</param>
    public ZshShell(bool isFound = false)
    {
        Directory.CreateDirectory(Folder.PathOf(".functions"));
        Folder.WriteText(".functions/_millrace", Script("zsh"));
        const string Begin = "autoload -Uz compinit; compinit -u -D";
        _load = isFound ? $"fpath=($PWD/.functions $fpath)\n{Begin}" : $"{Begin}\nsource <(cat .functions/_millrace)";
    }

    /// <summary>The list that is shown for a line.</summary>
    public async Task<string> ListAsync(string line)
    {
        using TypedShell shell = await StartAsync();
        return (await shell.TypeAsync(line + Listed)).Shown;
    }

    protected override async Task<string[][]> AskAsync(IReadOnlyList<string> lines)
    {
        using TypedShell shell = await StartAsync();
        var offers = new List<string[]>();
        foreach (string line in lines)
        {
            offers.Add(Inserted(line, (await shell.TypeAsync(line + AllAtOnce)).Response));
        }

        return [.. offers];
    }

    private Task<TypedShell> StartAsync()
    {
        Folder.WriteText(".zshrc", $"{_load}\n{Keys}\nPS1='{TypedShell.Prompt}'\n");
        return TypedShell.StartAsync("zsh -d -i", Folder.Root);
    }
}
