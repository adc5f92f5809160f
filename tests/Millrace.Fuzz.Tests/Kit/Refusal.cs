using Millrace.StaticFiles;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>Runs what may refuse its input.</summary>
internal static class Refusal
{
    /// <summary>The refusal, which has a cause and a remedy; null if the input was accepted.</summary>
    public static SiteException? Of(Action action)
    {
        try
        {
            action();
            return null;
        }
        catch (SiteException refusal) when (refusal.Cause.Length > 0 && refusal.Remedy.Length > 0)
        {
            return refusal;
        }
    }
}
