namespace Millrace.Models;

/// <summary>How generators choose.</summary>
internal static class Picks
{
    public static T Pick<T>(this Random random, params ReadOnlySpan<T> items) => items[random.Next(items.Length)];
}
