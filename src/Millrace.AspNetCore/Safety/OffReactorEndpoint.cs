using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;

namespace Millrace.AspNetCore.Safety;

/// <summary>Creates a copy of an endpoint whose requests leave the reactor first. Any thread.</summary>
internal static class OffReactorEndpoint
{
    /// <summary>
    /// Null where this is not possible: a copy of a derived endpoint type would lose what that type adds, and an endpoint without a
    /// delegate runs nothing.
    /// </summary>
    public static Endpoint? Make(Endpoint endpoint, EndpointStatisticsTable endpoints, BlockingPolicy policy)
    {
        if (endpoint.RequestDelegate is not { } run)
        {
            return null;
        }

        if (endpoint.GetType() == typeof(Endpoint))
        {
            return new Endpoint(LeaveAndRun, endpoint.Metadata, endpoint.DisplayName);
        }

        return endpoint is RouteEndpoint route && endpoint.GetType() == typeof(RouteEndpoint)
            ? new RouteEndpoint(LeaveAndRun, route.RoutePattern, route.Order, route.Metadata, route.DisplayName)
            : null;

        Task LeaveAndRun(HttpContext context) => endpoints.RunOffReactorAsync(context, run, policy);
    }
}
