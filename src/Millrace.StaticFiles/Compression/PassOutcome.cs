namespace Millrace.StaticFiles.Compression;

/// <summary>How a pass over a site ended.</summary>
internal enum PassOutcome
{
    /// <summary>What could be compressed is.</summary>
    Complete,

    /// <summary>As far as there is memory. There may be more when variants of before are freed.</summary>
    NoRoom,

    /// <summary>The site changed meanwhile; what it is now takes another pass.</summary>
    Superseded,

    /// <summary>It was stopped.</summary>
    Stopped,
}
