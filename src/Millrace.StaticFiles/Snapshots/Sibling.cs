namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// A coded file beside an asset, which is sent for it once its decoding has shown the same bytes. A new one for each version of either
/// file. The verdict is written under the catalog's lock; any thread reads it.
/// </summary>
/// <param name="variant">The file as a variant of the asset.</param>
/// <param name="file">The file's own asset, which owns the bytes.</param>
internal sealed class Sibling(Asset variant, Asset file)
{
    private volatile SiblingVerdict _verdict;

    public Asset Variant => variant;

    public Asset File => file;

    public SiblingVerdict Verdict
    {
        get => _verdict;
        set => _verdict = value;
    }
}

/// <summary>What the decoding of a sibling has shown.</summary>
internal enum SiblingVerdict : byte
{
    /// <summary>It was not decoded yet: the uncoded file or another coding is sent.</summary>
    Undecided,

    /// <summary>It decodes to its original.</summary>
    Proven,

    Empty,

    /// <summary>It ends before its content does.</summary>
    Incomplete,

    /// <summary>It is not data of its coding.</summary>
    Invalid,

    /// <summary>More follows the end of its first stream: clients ignore it or refuse the whole.</summary>
    Extended,

    /// <summary>It decodes to other bytes than its original.</summary>
    OtherContent,

    /// <summary>This system has no decoder for it.</summary>
    Undecodable,
}
