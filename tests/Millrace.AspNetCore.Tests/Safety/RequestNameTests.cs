using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Transport.Connections;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>What the watch calls a request while that goes on.</summary>
public class RequestNameTests
{
    /// <summary>Asked between two requests, Kestrel's has an empty one for the next, which is answered with 405 then.</summary>
    [Fact]
    public void A_request_is_named_without_asking_it_for_its_method()
    {
        var features = new FeatureCollection();
        features.Set<IHttpRequestFeature>(new Unasked());
        Assert.Equal("GET /path", CallbackOwner.NameOf(features, "GET"));
        features.Set<IHttpRequestFeature>(new Unasked { Path = null! });
        Assert.Null(CallbackOwner.NameOf(features, "GET"));
    }

    [Fact]
    public void One_that_has_an_endpoint_is_named_by_that()
    {
        var context = new DefaultHttpContext();
        context.SetEndpoint(new Endpoint(requestDelegate: null, metadata: null, "the endpoint"));
        Assert.Equal("the endpoint", CallbackOwner.NameOf(context.Features, "GET"));
    }

    private sealed class Unasked : IHttpRequestFeature
    {
        public string Protocol { get; set; } = "";

        public string Scheme { get; set; } = "";

        public string Method
        {
            get => throw new InvalidOperationException("It was asked for its method.");
            set => throw new NotSupportedException();
        }

        public string PathBase { get; set; } = "";

        public string Path { get; set; } = "/path";

        public string QueryString { get; set; } = "";

        public string RawTarget { get; set; } = "";

        public IHeaderDictionary Headers { get; set; } = new HeaderDictionary();

        public Stream Body { get; set; } = Stream.Null;
    }
}
