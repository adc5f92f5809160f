namespace Millrace.StaticFiles.Rules;

/// <summary>What a <see cref="PathPattern"/> is for, and so what it may hold.</summary>
internal enum PatternSyntax
{
    /// <summary>Chooses files: any number of '*', and '?'. Without a leading '/' it matches at any depth.</summary>
    Glob,

    /// <summary>Chooses requests and captures: starts with '/', at most one '*', no '?' (it would start a query).</summary>
    Route,
}
