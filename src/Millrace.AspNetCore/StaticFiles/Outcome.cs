namespace Millrace.AspNetCore.StaticFiles;

/// <summary>What became of a request that a site was asked about.</summary>
internal enum Outcome
{
    /// <summary>It is the next middleware's.</summary>
    PassedOn,

    /// <summary>The site has a page for what is nowhere: it is the next middleware's first.</summary>
    PutLast,

    /// <summary>The answer has its head; its body may be left to send.</summary>
    Begun,

    /// <summary>Its credentials are new: it is asked again when they are verified.</summary>
    NeedsVerification,

    /// <summary>Something takes long to make: it is asked again when that is done.</summary>
    NeedsPreparation,

    /// <summary>There is no descriptor to open its file with, for now.</summary>
    Exhausted,
}
