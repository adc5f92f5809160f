using Millrace.Interop.Brotli;

namespace Millrace.Tests.Shared;

/// <summary>
/// A libbrotli that codes with dictionaries: the machine's own, or that of the folder <c>artifacts/brotli</c> of the repository, which
/// <c>./test --install</c> fetches. Any thread.
/// </summary>
internal static class NewerBrotli
{
    private static readonly string Folder = Path.Combine(RootOf(AppContext.BaseDirectory), "artifacts", "brotli");

    private static readonly string[] Fetched = [.. BrotliLibrary.Names.Select(static name => Path.Combine(Folder, name))];

    /// <summary>The machine's own first: once it is found too old it is unloaded, and no other library is taken for a part of it.</summary>
    private static readonly Lazy<BrotliLibrary?> Library = new(static () =>
        BrotliLibrary.TryLoad(out BrotliLibrary? own) ? own
        : BrotliLibrary.TryLoad(Fetched, out BrotliLibrary? fetched, out _) ? fetched
        : null);

    /// <summary>It, in this process. Skips the test where it is missing.</summary>
    public static BrotliLibrary Require()
    {
        Assert.SkipUnless(Library.Value is not null, "libbrotli 1.1 is missing: ./test --install fetches it.");
        return Library.Value!;
    }

    /// <summary>What another process needs to use it.</summary>
    public static IReadOnlyList<(string Name, string Value)> RequireForProcess()
    {
        _ = Require();
        return BrotliLibrary.TryLoad(out _) ? [] : [("LD_LIBRARY_PATH", Folder)];
    }

    private static string RootOf(string folder) =>
        File.Exists(Path.Combine(folder, "Millrace.slnx")) ? folder : RootOf(Path.GetDirectoryName(folder)!);
}
