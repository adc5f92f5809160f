using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// A request's endpoint feature that replaces the endpoint chosen by routing with the variant that leaves the reactor, where its requests
/// have to. Used only while some endpoint's requests leave; otherwise requests have Kestrel's own feature. The request's thread.
/// </summary>
internal sealed class OffReactorEndpointFeature(EndpointStatisticsTable endpoints) : IEndpointFeature
{
    public Endpoint? Endpoint { get; set => field = value is null ? null : endpoints.VariantOf(value); }
}
