namespace Millrace.Storm.Site;

/// <summary>How a file is kept up to date.</summary>
internal enum Upkeep
{
    /// <summary>Another file is renamed over it.</summary>
    Renamed,

    /// <summary>Its folder is a link that is swapped.</summary>
    Released,

    /// <summary>It is truncated in place, and then replaced.</summary>
    Truncated,

    /// <summary>It is written over in place.</summary>
    Rewritten,

    /// <summary>It is deleted and comes back.</summary>
    Deleted,

    /// <summary>It is replaced together with its .gz and .br.</summary>
    Precompressed,

    /// <summary>Only the whole root is ever replaced.</summary>
    Rooted,
}

/// <summary>A path that is always part of the site; its length grows and shrinks by a few lines with every version.</summary>
internal sealed record StandingFile(string Path, int Number, long BytesMin, Upkeep Upkeep)
{
    /// <summary>Small ones are kept in memory, medium ones read in one go, large ones sent in chunks.</summary>
    public static readonly StandingFile[] All =
    [
        .. Several(Upkeep.Renamed, "pages/{0}.html", 640, 2_560, 10_240, 10_240, 40_960, 61_440),
        .. Several(Upkeep.Renamed, "images/{0}.bin", 98_304, 196_608, 1_048_576, 4_194_304),
        .. Several(Upkeep.Released, "app/{0}.txt", 640, 10_240, 10_240, 131_072, 1_048_576),
        .. Several(Upkeep.Truncated, "cut/{0}.bin", 10_240, 131_072, 2_097_152),
        .. Several(Upkeep.Rewritten, "rewritten/{0}.txt", 4_096, 10_240, 131_072, 1_048_576),
        .. Several(Upkeep.Deleted, "deleted/{0}.txt", 640, 10_240, 131_072, 1_048_576),
        .. Several(Upkeep.Precompressed, "scripts/{0}.js", 2_560, 40_960, 131_072, 655_360),
        .. Several(Upkeep.Rooted, "root/{0}.html", 640, 10_240),
    ];

    private static IEnumerable<StandingFile> Several(Upkeep upkeep, string path, params long[] bytes) =>
        bytes.Select((size, i) => new StandingFile(string.Format(null, path, i), (((int)upkeep + 1) * 100) + i, size, upkeep));
}
