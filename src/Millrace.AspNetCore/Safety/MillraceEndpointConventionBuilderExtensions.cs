using Millrace.AspNetCore;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Sets where endpoints run.</summary>
public static class MillraceEndpointConventionBuilderExtensions
{
    private static readonly RunOffReactorAttribute Mark = new();

    /// <summary>Runs the endpoints' requests on the thread pool, where code may block; see <see cref="RunOffReactorAttribute"/>.</summary>
    public static TBuilder RunOffReactor<TBuilder>(this TBuilder builder)
        where TBuilder : IEndpointConventionBuilder
    {
        ArgumentNullException.ThrowIfNull(builder);
        builder.Add(static endpoint => endpoint.Metadata.Add(Mark));
        return builder;
    }
}
