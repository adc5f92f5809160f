using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>
/// The sources of this repository as somebody else has them, in a folder of their own: what git tracks, or would, and nothing that was
/// built. It is removed when it is disposed of.
/// </summary>
internal sealed class SourceCopy : IDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(2);

    private readonly TempFolder _folder = new();

    private SourceCopy()
    {
    }

    public string Root => _folder.PathOf("sources");

    public static async Task<SourceCopy> OfArchiveAsync()
    {
        Tool.Require("git");
        var copy = new SourceCopy();
        Directory.CreateDirectory(copy.Root);
        await copy.FillAsync();
        return copy;
    }

    /// <summary>With the history, as if the last commit had this tag, and the clone came from there.</summary>
    public static async Task<SourceCopy> OfTagAsync(string tag, string remote)
    {
        Tool.Require("git");
        var copy = new SourceCopy();
        await Tool.RunToSuccessAsync(Deadline, "git", "clone", "--quiet", "--no-checkout", Places.Repository, copy.Root);
        await copy.FillAsync();
        await copy.GitAsync("tag", tag);
        await copy.GitAsync("remote", "set-url", "origin", remote);
        return copy;
    }

    public async Task<string> CommitAsync() => (await GitAsync("rev-parse", "HEAD")).Trim();

    public void Dispose() => _folder.Dispose();

    private Task<string> GitAsync(params string[] arguments) => Tool.RunToSuccessAsync(Deadline, "git", ["-C", Root, .. arguments]);

    private Task<string> FillAsync() => Tool.RunToSuccessAsync(
        Deadline,
        "bash", "-c", "set -o pipefail; cd \"$1\"; git ls-files -z --cached --others --exclude-standard --deduplicate "
            + "| while IFS= read -r -d '' file; do if [[ -e \"$file\" ]]; then printf '%s\\0' \"$file\"; fi; done "
            + "| tar --null --files-from=- --create | tar --extract --directory \"$2\"", "fill", Places.Repository, Root);
}
