namespace Millrace.StaticFiles;

/// <summary>The site cannot be served as configured. States the cause and the remedy.</summary>
public sealed class SiteException : Exception
{
    /// <summary>Without a cause or a remedy: for frameworks that demand this constructor.</summary>
    public SiteException()
        : this("The site cannot be served.", "")
    {
    }

    /// <summary>With a cause only.</summary>
    /// <param name="cause">What is wrong, in one sentence.</param>
    public SiteException(string cause)
        : this(cause, "")
    {
    }

    /// <summary>With a cause and the exception below it.</summary>
    /// <param name="cause">What is wrong, in one sentence.</param>
    /// <param name="innerException">What was thrown first.</param>
    public SiteException(string cause, Exception innerException)
        : base(cause, innerException)
    {
        Cause = cause;
        Remedy = "";
    }

    /// <summary>With cause and remedy.</summary>
    /// <param name="cause">What is wrong, in one sentence.</param>
    /// <param name="remedy">What the user can do about it, in one sentence.</param>
    public SiteException(string cause, string remedy)
        : base($"{cause} {remedy}".TrimEnd())
    {
        Cause = cause;
        Remedy = remedy;
    }

    /// <summary>What is wrong, in one sentence.</summary>
    public string Cause { get; }

    /// <summary>Whether an option or a file is wrong, as opposed to a refusal of the host (a permission, a missing library).</summary>
    internal bool IsMistake { get; init; } = true;

    /// <summary>What the user can do about it, in one sentence; empty where nothing is known.</summary>
    public string Remedy { get; }
}
