namespace Millrace.StaticFiles.Compression;

/// <summary>How a pass over a site ended.</summary>
internal enum PassOutcome
{
    /// <summary>What could be compressed is, as far as there is memory.</summary>
    Complete,

    /// <summary>The site changed meanwhile; what it is now takes another pass.</summary>
    Superseded,

    /// <summary>It was stopped.</summary>
    Stopped,
}
