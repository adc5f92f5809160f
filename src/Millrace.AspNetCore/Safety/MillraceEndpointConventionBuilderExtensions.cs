using Millrace.AspNetCore;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Says of endpoints where they run.</summary>
public static class MillraceEndpointConventionBuilderExtensions
{
    private static readonly RunOffReactorAttribute Mark = new();

    /// <summary>
    /// Has the requests of the endpoints run on the thread pool, where code may block; see <see cref="RunOffReactorAttribute"/>.
    /// </summary>
    public static TBuilder RunOffReactor<TBuilder>(this TBuilder builder)
        where TBuilder : IEndpointConventionBuilder
    {
        ArgumentNullException.ThrowIfNull(builder);
        builder.Add(static endpoint => endpoint.Metadata.Add(Mark));
        return builder;
    }
}
