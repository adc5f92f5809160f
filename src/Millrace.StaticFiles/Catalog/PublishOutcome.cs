namespace Millrace.StaticFiles.Catalog;

/// <summary>What became of variants that were offered.</summary>
internal enum PublishOutcome
{
    /// <summary>They are served from now on.</summary>
    Published,

    /// <summary>The asset changed or went away meanwhile; they are of no use.</summary>
    Retired,

    /// <summary>There is no memory left for them. None was taken; there may be some when old ones are freed.</summary>
    NoRoom,
}
